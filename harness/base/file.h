/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "harness/base/error.h"

/* The jp_file_read*() functions return a whole file with a NUL appended, which the caller frees,
 * and store its length in *@size (may be NULL). They return NULL and a message that names the file
 * if it is unreadable or longer than @limit bytes. */

/* Opens @path by jp_named_input() and reads it to its end. Also reads files of /proc and /sys,
 * whose st_size is wrong. */
char *jp_file_read(const char *path, size_t limit, size_t *size, struct jp_error *err);
/* Reads from the current offset of @fd, which messages call @name. */
char *jp_file_read_fd(int fd, const char *name, size_t limit, size_t *size, struct jp_error *err);
/* Reads an untrusted file, which must be regular, no link, and exactly as long as stat() states, so
 * that a truncated file is not mistaken for a whole file. Never waits for a FIFO. */
char *jp_file_read_regular(const char *path, size_t limit, size_t *size, struct jp_error *err);

/* Creates a file for writing. Replaces an existing file if @replace; otherwise an existing file is
 * an error. Returns NULL and a message on errors. */
FILE *jp_file_create(const char *path, bool replace, struct jp_error *err);
/* Closes @file, which messages call @path. Returns 0, or -errno and a message if a part that was
 * written is not in the file. */
int jp_file_finish(FILE *file, const char *path, struct jp_error *err);

/* Reads a short text, such as a file of /proc, by one read(): at most @size - 1 bytes and a NUL.
 * Returns the number of bytes read, or -errno with "" in @text. */
ssize_t jp_file_read_text(const char *path, char *text, size_t size);
/* Returns the decimal number at the beginning of a short text file such as those of /proc, possibly
 * negative. Returns @otherwise if there is no number. */
long jp_file_number(const char *path, long otherwise);

/* Reads exactly @size bytes from @offset of @fd, which @err calls @name. Returns 0, -ENODATA if the
 * file is too short, or -errno. */
int jp_file_read_at(int fd, const char *name, void *buffer, size_t size, uint64_t offset,
		    struct jp_error *err);
/* Writes all of @bytes at the current offset of @fd. Returns 0 or -errno. */
int jp_file_write(int fd, const void *bytes, size_t size);
/* Copies @size bytes (UINT64_MAX: all) from the current offset of @input to that of @output.
 * Returns 0, -ENODATA if @input is too short, or -errno. */
int jp_file_copy(int input, int output, uint64_t size);
