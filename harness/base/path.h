/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stddef.h>

#include "harness/base/error.h"

/* Prints a path into @path_out of @size > 0 bytes, complete or not at all. Returns 0, or
 * -ENAMETOOLONG with @err (may be NULL) and "" in @path_out. */
int jp_path_build(char *path_out, size_t size, struct jp_error *err, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
/* Returns the part of @path after its last slash, or @path if it has none. */
const char *jp_path_base(const char *path);
