/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <limits.h>
#include <stdio.h>
#include <sys/types.h>

#include "harness/base/error.h"

/* A file that gets its name @path only when it is complete. So no reader sees an incomplete file, a
 * kill leaves no file, no other user's file is written to, and no link is followed. On file systems
 * without O_TMPFILE it has a temporary name beside @path meanwhile. */
struct jp_new_file {
	const char *path, *name; /* the path, which the caller keeps valid; its last component */
	int folder;              /* descriptor of the folder that contains it */
	int fd;                  /* descriptor while the file has no name; else -1 */
	char temporary[NAME_MAX + 1];
};

/* Creates the file, unless @path is something other than a regular file. Returns a descriptor for
 * reading and writing, which the caller closes, or -errno and a message. */
int jp_new_file_open(struct jp_new_file *file, const char *path, mode_t mode, struct jp_error *err);
/* Returns a descriptor of an empty file that has its name @path at once, for data that cannot be
 * produced again and is useful even if incomplete. */
int jp_new_file_create_named(const char *path, mode_t mode, struct jp_error *err);
/* Removes the file at @path if it is the file of @fd. */
void jp_new_file_remove_if_same(const char *path, int fd);
/* Opens a new file as a text stream. Returns NULL and a message on errors. */
FILE *jp_new_file_stream(struct jp_new_file *file, const char *path, struct jp_error *err);
/* Gives the complete, closed file its name, replacing an existing file. On failure deletes it, and
 * returns -errno and a message. */
int jp_new_file_publish(struct jp_new_file *file, struct jp_error *err);
/* Does the same as jp_new_file_publish() for the open file whose path is @path, at the request of a
 * confined process (delegate.h). */
int jp_new_file_publish_path(const char *path, struct jp_error *err);
/* Discards an incomplete file. Does nothing for a struct that is all zero. */
void jp_new_file_discard(struct jp_new_file *file);
/* Discards all incomplete files; a signal handler may call it. */
void jp_new_file_discard_all(void);
