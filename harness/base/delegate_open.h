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
	const char *input; /* "-": standard input; a file, or a folder with all below; NULL: only
			      @files */
	const struct jp_readable_file *files; /* sorted by jp_readable_sort() */
	size_t nr_files;
	const char *folders[3]; /* further folders; NULL: none */
	/* Returns whether the file at @path, which begins with @head and has no other name
	 * (@alone), may be read anywhere if the input is root's own. NULL: none may. */
	bool (*harmless)(const char *path, bool alone, const unsigned char *head, size_t size);
};

/* Sorts files by path. Of two entries for a path, the one for any owner counts. */
void jp_readable_sort(struct jp_readable_file *files, size_t count);

enum { JP_DELEGATE_FOLDERS = 4 };
struct jp_delegate {
	const struct jp_readable *readable;
	int input; /* descriptor; -1: none */
	struct {
		const char *path;
		char *real; /* absolute path without links */
		int fd;     /* -1: none */
	} folders[JP_DELEGATE_FOLDERS];
};

/* Opens the input and the folders, so that nobody can replace them. Returns 0, or -errno and a
 * message. */
int jp_delegate_open(struct jp_delegate *delegate, const struct jp_readable *readable,
		     struct jp_error *err);
void jp_delegate_close(struct jp_delegate *delegate);

/* Opens a file for the confined process. Returns a descriptor, or -errno and a message. @path is
 * untrusted. */
int jp_delegate_input(const struct jp_delegate *delegate, const char *path, struct jp_error *err);
int jp_delegate_file(const struct jp_delegate *delegate, const char *path, struct jp_error *err);
int jp_delegate_folder(const struct jp_delegate *delegate, const char *path, struct jp_error *err);
int jp_delegate_root(const struct jp_delegate *delegate, const char *pid, struct jp_error *err);
