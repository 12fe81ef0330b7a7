/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "harness/base/error.h"

/* The folders that a run writes. */
struct jp_run_dir {
	char path[3072];
	bool temporary; /* nobody asked for it: it goes when all passed */
};

/* @path NULL: a new one in TMPDIR. Else @path must not exist, or be an empty directory. */
int jp_run_dir_make(struct jp_run_dir *dir, const char *path, struct jp_error *err);
/* The folder of case @name, made anew (never one that is there already), into @path. */
int jp_run_dir_case(const struct jp_run_dir *dir, const char *name, char *path, size_t size,
		    struct jp_error *err);
/* Removes @path and all below it, following no symbolic link. */
int jp_run_dir_remove(const char *path);
/* A new file @dir/@name, for writing: its descriptor, or -errno and a message. */
int jp_run_dir_create(const char *dir, const char *name, struct jp_error *err);
/* Writes @text as @dir/@name. */
int jp_run_dir_write(const char *dir, const char *name, const char *text, struct jp_error *err);
/* What stands in @dir/@name, allocated; NULL: not there, or not readable (errno tells). At most 1
 * MiB. */
char *jp_run_dir_read(const char *dir, const char *name, size_t *size);
