/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef JP_FOREIGN_FILE_H
#define JP_FOREIGN_FILE_H

#include <stdint.h>

#include "harness/base/error.h"

/*
 * Opens for reading a file that others wrote at a place where anyone may write, such as /tmp: a
 * regular file, no symbolic link in the last part of @path, @owner's (-1: any). Never waits (a
 * FIFO). The descriptor, with its size in @size, or -errno and a message.
 */
int jp_untrusted_open(const char *path, int64_t owner, uint64_t *size, struct jp_error *err);

/*
 * The same of @path within the folder @root, as one sees it whose root that is: neither ".." nor a
 * link leads out of it. -ENOSYS before Linux 5.6.
 */
int jp_untrusted_open_in(int root, const char *path, int64_t owner, uint64_t *size,
			 struct jp_error *err);

#endif
