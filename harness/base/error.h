/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* Errors are values. A function that can fail returns 0 (or a pointer) on success and -errno (or
 * NULL) on failure, with one sentence in the out-parameter: the file, the offset if any, what was
 * found and what was expected. Only commands and workloads print it and exit. */
struct jp_error {
	char text[1024];
};

/* Stores the sentence in @err (may be NULL), followed by a remedy if @code is EMFILE or EFBIG.
 * Returns -@code. */
int jp_fail(struct jp_error *err, int code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
