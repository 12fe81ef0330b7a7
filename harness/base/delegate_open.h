/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/base/error.h"

/* A regular file that a confined process may read, by its exact path. */
struct jp_readable_file {
	const char *path;
	int64_t owner; /* required owner of a file without other hard links; -1: any */
};

/* Files that may be read with the privileges of the waiting process (confine.h). */
struct jp_readable {
	/* Path of a file, or of a folder with all files below it; "-": standard input; NULL: only
	 * @files. */
	const char *input;
	const struct jp_readable_file *files; /* sorted by jp_readable_sort() */
	size_t nr_files;
	const char *folders[3]; /* further folders; NULL: none */
	/* Decides about a file outside these folders if the input belongs to root: returns whether
	 * it may be read. @head: its first @size bytes. @alone: it has only one hard link. NULL: no
	 * such file may be read. */
	bool (*harmless)(const char *path, bool alone, const unsigned char *head, size_t size);
};

/* Sorts files by path. If a path has two entries, the entry for any owner counts. */
void jp_readable_sort(struct jp_readable_file *files, size_t count);

enum { JP_DELEGATE_FOLDERS = 4 };
struct jp_delegate {
	const struct jp_readable *readable;
	int input; /* descriptor; -1: none */
	struct {
		const char *path;
		char *real_path; /* absolute path without links */
		int fd;          /* -1: none */
	} folders[JP_DELEGATE_FOLDERS];
};

/* Opens the input and the folders of @readable, so that nobody can replace them later. Returns 0,
 * or -errno and a message. */
int jp_delegate_open(struct jp_delegate *delegate, const struct jp_readable *readable,
		     struct jp_error *err);
void jp_delegate_close(struct jp_delegate *delegate);

/* Opens a file for the confined process. Returns a descriptor, or -errno and a message. @path is
 * untrusted. */
int jp_delegate_input(const struct jp_delegate *delegate, const char *path, struct jp_error *err);
int jp_delegate_file(const struct jp_delegate *delegate, const char *path, struct jp_error *err);
int jp_delegate_folder(const struct jp_delegate *delegate, const char *path, struct jp_error *err);
int jp_delegate_root(const struct jp_delegate *delegate, const char *pid, struct jp_error *err);
