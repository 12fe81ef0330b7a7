/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/base/error.h"

/*
 * Opens for reading a file that others wrote at a place where anyone may write, such as /tmp: a
 * regular file, none of procfs and the like, no symbolic link in the last part of @path, @owner's
 * (-1: any). Never waits (a FIFO). The descriptor, with its size in @size, or -errno and a message.
 * What a confined process may not open itself may be opened for it (confine.h).
 */
int jp_untrusted_open(const char *path, int64_t owner, uint64_t *size, struct jp_error *err);
/* The same of @name in the folder @dir, which messages call @path. */
int jp_untrusted_open_at(int dir, const char *name, const char *path, int64_t owner, uint64_t *size,
			 struct jp_error *err);
/* A folder, for looking into it: @name in @dir (AT_FDCWD: a path), no link where @dir is a folder.
 * The descriptor or -errno. */
int jp_untrusted_folder(int dir, const char *name);
/* 0: it is there, of whatever kind; -errno and a message. */
int jp_untrusted_there(const char *path, struct jp_error *err);

/* The names in a folder that are @wanted, sorted. Freed by jp_folder_names_free(), also after an
 * error. */
struct jp_folder_names {
	char **names;
	size_t count, capacity;
};
int jp_untrusted_list(const char *path, struct jp_folder_names *names,
		      bool (*wanted)(const char *name), struct jp_error *err);
void jp_folder_names_free(struct jp_folder_names *names);

/* What this user named: as jp_named_input(), which waits for a FIFO. */
int jp_named_open(const char *path, struct jp_error *err);
/* The same where it is a regular file; nothing is waited for. -errno. */
int jp_named_open_regular(const char *path);

/*
 * The same of @path within the folder @root, as one sees it whose root that is: neither ".." nor a
 * link leads out of it. -ENOSYS before Linux 5.6.
 */
int jp_untrusted_open_in(int root, const char *path, int64_t owner, uint64_t *size,
			 struct jp_error *err);
