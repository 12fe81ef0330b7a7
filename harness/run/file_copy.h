/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/base/error.h"

/* Copies the untrusted regular file @from to the new file @to, without following links. Holes
 * remain holes. Returns 0, or -errno and a message. */
int jp_file_copy_to(const char *from, const char *to, struct jp_error *err);
