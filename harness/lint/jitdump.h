/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/lint/rule.h"

/* Parses the jitdump @dump->file.path as far as possible. Returns 0, or -errno and a message if it
 * is unreadable. */
int jp_lint_dump_read(struct jp_lint_dump *dump, struct jp_error *err);
void jp_lint_dump_free(struct jp_lint_dump *dump);
