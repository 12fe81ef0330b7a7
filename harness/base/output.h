/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "harness/base/error.h"

/* A buffered regular file, written from front to back; parts may be overwritten at the end.
 * jp_output_close() reports the first failed write, so writers need not check. Not thread-safe. */
struct jp_output;

/* Creates the regular file @path and replaces an existing one. Returns NULL and a message on
 * errors. */
struct jp_output *jp_output_create(const char *path, struct jp_error *err);
/* Takes over @fd of an empty file; messages call it @path. Returns NULL if out of memory; @fd is
 * then closed. */
struct jp_output *jp_output_adopt(int fd, const char *path, struct jp_error *err);
void jp_output_put(struct jp_output *output, const void *bytes, size_t size);
/* Writes the buffer to the file, so that a sudden end of this process loses nothing. */
void jp_output_flush(struct jp_output *output);
/* Writes zeros up to offset @offset, as a hole if there are many. Does nothing if @offset is not
 * after the current offset. The caller must write afterwards, because a hole at the end is not part
 * of the file. */
void jp_output_pad(struct jp_output *output, uint64_t offset);
/* Returns the offset of the next byte. */
uint64_t jp_output_offset(const struct jp_output *output);
/* Overwrites bytes at offset @offset. */
void jp_output_rewrite(struct jp_output *output, uint64_t offset, const void *bytes, size_t size);
/* Returns 0, or -errno of the first failed write. */
int jp_output_error(const struct jp_output *output);
/* Writes the rest of the buffer, closes the file and frees @output. Returns 0, or -errno and a
 * message. */
int jp_output_close(struct jp_output *output, struct jp_error *err);
/* Closes and removes the file of jp_output_create(), and frees @output. */
void jp_output_remove(struct jp_output *output);
/* Closes the file and frees @output without writing the buffer. @output may be NULL. */
void jp_output_abandon(struct jp_output *output);
