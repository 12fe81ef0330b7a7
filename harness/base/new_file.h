/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <limits.h>
#include <stdio.h>
#include <sys/types.h>

#include "harness/base/error.h"

/* A file without a name, which gets that of @path when it is complete: no reader sees an incomplete
 * file, a kill leaves none, no other user's file is written to, and no link is followed. On file
 * systems without nameless files it has a temporary name beside @path. */
struct jp_new_file {
	const char *path, *name; /* path, owned by the caller until the end; its last part */
	int folder;              /* descriptor of its folder, which may be renamed meanwhile */
	int held;                /* descriptor while it has no name; else -1 */
	char temporary[NAME_MAX + 1];
};

/* Creates the file, unless @path is something other than a regular file. Returns a descriptor for
 * reading and writing, which the caller closes, or -errno and a message. */
int jp_new_file_open(struct jp_new_file *file, const char *path, mode_t mode, struct jp_error *err);
/* Returns a descriptor of an empty file that is visible at once: for data that cannot be made again
 * and is useful even if incomplete. */
int jp_new_file_at_once(const char *path, mode_t mode, struct jp_error *err);
/* Removes the file at @path if it is the file of @fd. */
void jp_new_file_undo(const char *path, int fd);
/* Opens a new file as a text stream. Returns NULL and a message on errors. */
FILE *jp_new_file_stream(struct jp_new_file *file, const char *path, struct jp_error *err);
/* Moves the complete, closed file to its path. Returns 0, or -errno and a message; the file is then
 * gone. */
int jp_new_file_keep(struct jp_new_file *file, struct jp_error *err);
/* Does the same for the file of @path, for a process that cannot do it itself (delegate.h). */
int jp_new_file_keep_path(const char *path, struct jp_error *err);
/* Drops a file that is unwanted, or was never opened (all zero). */
void jp_new_file_drop(struct jp_new_file *file);
/* Drops all open files; a signal handler may call it. */
void jp_new_file_drop_all(void);
