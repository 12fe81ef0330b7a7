/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/base/arguments.h"
#include "harness/base/error.h"

/* Opens for reading the file, folder or pipe that this user named. Follows links. Refuses devices,
 * FIFOs of other users, and in a confined process (delegate.h) all FIFOs; pipes are allowed.
 * Returns the descriptor, or -errno and a message. */
int jp_named_input(const char *path, struct jp_error *err);
/* Opens the file of @fd again, to read from its start. @flags: for open(). Returns the descriptor
 * or -errno. */
int jp_reopen_descriptor(int fd, int flags);

/*
 * Opens for reading an untrusted file in a place where anyone may write, such as /tmp. It must be a
 * regular file, not of procfs and similar, owned by @owner (-1: any), and its last path component
 * must be no symbolic link. Never waits for a FIFO. In a confined process the waiting process opens
 * the file (confine.h). Returns the descriptor and stores the size in *@size, or returns -errno and
 * a message.
 */
int jp_untrusted_open(const char *path, int64_t owner, uint64_t *size, struct jp_error *err);
/* Opens @name in the folder @dir like jp_untrusted_open(). Messages call the file @path. */
int jp_untrusted_open_at(int dir, const char *name, const char *path, int64_t owner, uint64_t *size,
			 struct jp_error *err);
/* Opens the folder @name in @dir for listing. @dir AT_FDCWD: @name is a path; otherwise @name must
 * be no symbolic link. Returns the descriptor or -errno. */
int jp_untrusted_open_folder(int dir, const char *name);
/* Returns 0 if a file of any type exists at @path, or -errno. */
int jp_untrusted_check_exists(const char *path);

/* Adds the names in the folder @path that pass a filter to the empty list @names, and sorts them.
 * Returns 0, or -errno and a message. */
int jp_untrusted_list(const char *path, struct jp_arguments *names,
		      bool (*is_wanted)(const char *name), struct jp_error *err);

/* Opens the input that this user named, by the rules of jp_named_input(). Waits for the writer of a
 * FIFO. Returns the descriptor, or -errno and a message. */
int jp_named_open(const char *path, struct jp_error *err);
/* Opens the file that this user named, which must be a regular file. Never waits. Returns the
 * descriptor or -errno. */
int jp_named_open_regular(const char *path);

/* Opens @path like jp_untrusted_open(), with the folder @root as the root of the file system:
 * neither ".." nor a link leads out of @root. Returns -ENOSYS before Linux 5.6. */
int jp_untrusted_open_in(int root, const char *path, int64_t owner, uint64_t *size,
			 struct jp_error *err);
