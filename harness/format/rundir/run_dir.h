/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "harness/base/error.h"

/* The folder into which a run writes its results. */
struct jp_run_dir {
	char path[3072];
	bool temporary; /* the user did not name it: it is removed if all cases passed */
};

/* Creates @path, which must not exist or be an empty directory; NULL: a new folder in TMPDIR.
 * Returns 0, or -errno and a message. */
int jp_run_dir_make(struct jp_run_dir *dir, const char *path, struct jp_error *err);
/* Stores the path of this user's newest temporary folder with the results of a run. Returns 0, or
 * -errno and a message. */
int jp_run_dir_newest(char *path, size_t size, struct jp_error *err);
/* Creates the folder of case @name, which must not exist, and stores its path in @path. Returns 0,
 * or -errno and a message. */
int jp_run_dir_case(const struct jp_run_dir *dir, const char *name, char *path, size_t size,
		    struct jp_error *err);
/* Removes @path and all below it, following no symbolic link. */
int jp_run_dir_remove(const char *path);
/* Creates @dir/@name for writing. Returns its descriptor, or -errno and a message. */
int jp_run_dir_create(const char *dir, const char *name, struct jp_error *err);
/* Writes @text as @dir/@name. Returns 0, or -errno and a message. */
int jp_run_dir_write(const char *dir, const char *name, const char *text, struct jp_error *err);
/* Returns the contents of @dir/@name, allocated, at most 1 MiB. NULL with errno: it does not exist
 * or is not readable. */
char *jp_run_dir_read(const char *dir, const char *name, size_t *size);
