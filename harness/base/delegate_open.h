/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/base/error.h"

/* A regular one, by its very path. */
struct jp_readable_file {
	const char *path;
	int64_t owner; /* must own it, and it must have no other name; -1: anyone's */
};

/* What may be read with the rights of the process that stayed (confine.h). */
struct jp_readable {
	const char *input; /* "-": standard input; a file, or a folder with all below it; NULL: no
			    * more than @files */
	const struct jp_readable_file *files; /* as jp_readable_sort() leaves them */
	size_t nr_files;
	const char *folders[3]; /* more of these; NULL: none */
	/* Whether the file at @path, which begins with @head and has no other name (@alone), may be
	 * read wherever it lies, where the input is root's own; NULL: none may. */
	bool (*harmless)(const char *path, bool alone, const unsigned char *head, size_t size);
};

/* In the order of their paths: there may be many. Of two, the one that anyone may own counts. */
void jp_readable_sort(struct jp_readable_file *files, size_t count);

enum { JP_DELEGATE_FOLDERS = 4 };
struct jp_delegate {
	const struct jp_readable *readable;
	int input; /* open; -1: none */
	struct {
		const char *path;
		char *real; /* the same from the root on, without links */
		int fd;     /* -1: none */
	} folders[JP_DELEGATE_FOLDERS];
};

/* Opens the input and the folders: nobody can put others in their place. */
int jp_delegate_open(struct jp_delegate *delegate, const struct jp_readable *readable,
		     struct jp_error *err);
void jp_delegate_close(struct jp_delegate *delegate);

/* What the process that stayed opens for the confined one: a descriptor, or -errno and a message.
 * Nothing of what stands in @path is believed. */
int jp_delegate_input(const struct jp_delegate *delegate, const char *path, struct jp_error *err);
int jp_delegate_file(const struct jp_delegate *delegate, const char *path, struct jp_error *err);
int jp_delegate_folder(const struct jp_delegate *delegate, const char *path, struct jp_error *err);
int jp_delegate_root(const struct jp_delegate *delegate, const char *pid, struct jp_error *err);
