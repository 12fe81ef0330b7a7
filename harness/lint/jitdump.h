/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/lint/rule.h"

/* Takes the jitdump @dump->file.path apart as far as that goes. 0, or -errno and a message: it
 * cannot be read. */
int jp_lint_dump_read(struct jp_lint_dump *dump, struct jp_error *err);
void jp_lint_dump_free(struct jp_lint_dump *dump);
