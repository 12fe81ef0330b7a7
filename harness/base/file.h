/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "harness/base/error.h"

/*
 * Whole files, with a NUL behind their @size bytes (@size may be NULL); the caller frees. NULL
 * where they cannot be read or have more than @limit bytes, with a message that names the file and
 * errno.
 */

/* @path to its end, as jp_named_input() opens it: also of /proc and /sys, whose size says nothing.
 */
char *jp_file_read(const char *path, size_t limit, size_t *size, struct jp_error *err);
/* From where @fd is, which the message calls @name. */
char *jp_file_read_fd(int fd, const char *name, size_t limit, size_t *size, struct jp_error *err);
/* A file that others wrote: regular, no link, and of just the size that it says (a part of the
 * evidence is no evidence). Never waits. */
char *jp_file_read_regular(const char *path, size_t limit, size_t *size, struct jp_error *err);

/* A file of our own to write to: a new one, in the place of what is there where it is to @replace
 * that. NULL and a message. */
FILE *jp_file_create(const char *path, bool replace, struct jp_error *err);

/* One read() of a short text, as of /proc: at most @size - 1 bytes and a NUL. Their number, or
 * -errno and "" in @text. */
ssize_t jp_file_text(const char *path, char *text, size_t size);
/* The number that such a text begins with, decimal, maybe with a minus; @otherwise: there is none.
 */
long jp_file_number(const char *path, long otherwise);

/* Just @size bytes from @offset on of @fd, which @err calls @name. 0, -ENODATA: it ends before, or
 * -errno. */
int jp_file_read_at(int fd, const char *name, void *to, size_t size, uint64_t offset,
		    struct jp_error *err);
/* All of @bytes, from where @fd is. 0 or -errno. */
int jp_file_write(int fd, const void *bytes, size_t size);
/* @size bytes (UINT64_MAX: all) from where @from is to where @to is. 0, -ENODATA: @from ends
 * before, or -errno. */
int jp_file_copy(int from, int to, uint64_t size);
