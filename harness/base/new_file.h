/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef JP_BASE_NEW_FILE_H
#define JP_BASE_NEW_FILE_H

#include <limits.h>
#include <sys/types.h>

#include "harness/base/error.h"

/*
 * A file that is written under a name of its own beside @path, and takes that name when it is
 * whole: nobody sees half a file, nobody else's file is written into, no link is followed.
 */
struct jp_new_file {
	const char *path; /* the caller's, until the end */
	char temporary[PATH_MAX];
};

/* Creates it, unless something else than a regular file is at @path. A descriptor for reading and
 * writing, which the caller closes; or -errno and a message. */
int jp_new_file_open(struct jp_new_file *file, const char *path, mode_t mode, struct jp_error *err);
/* It is whole and closed, and takes the place of what is at its path. 0, or -errno and a message:
 * then it is gone. */
int jp_new_file_keep(struct jp_new_file *file, struct jp_error *err);
/* The same of the one for @path, for a process that cannot do it itself (delegate.h). */
int jp_new_file_keep_path(const char *path, struct jp_error *err);
/* It is not wanted any more. */
void jp_new_file_drop(struct jp_new_file *file);
/* None that is open is; a signal's handler may call it. */
void jp_new_file_drop_all(void);

#endif
