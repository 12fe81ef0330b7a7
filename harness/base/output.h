/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "harness/base/error.h"

/*
 * A regular file written from front to back, buffered; parts of it may be written again at the end.
 * A failed write is remembered and told by jp_output_close(), so that nobody need stop for it. Not
 * locked.
 */
struct jp_output;

/* A new regular file @path, in the place of one that was there. */
struct jp_output *jp_output_create(const char *path, struct jp_error *err);
/* Takes over @fd of an empty file; @path is for messages. NULL: no memory, @fd is closed. */
struct jp_output *jp_output_adopt(int fd, const char *path, struct jp_error *err);
void jp_output_put(struct jp_output *output, const void *bytes, size_t size);
/* What was put is in the file, should we end at once. */
void jp_output_flush(struct jp_output *output);
/* Zeros up to the offset @at, a hole where they are many; nothing where it is behind. What follows
 * is the caller's to put: a hole at the end is not there. */
void jp_output_pad(struct jp_output *output, uint64_t at);
/* Offset of the next byte. */
uint64_t jp_output_at(const struct jp_output *output);
/* Writes over what was put at @at. */
void jp_output_rewrite(struct jp_output *output, uint64_t at, const void *bytes, size_t size);
/* 0, or -errno of the first write that failed. */
int jp_output_error(const struct jp_output *output);
/* Writes what is left, closes and frees. */
int jp_output_close(struct jp_output *output, struct jp_error *err);
/* Closes, frees, and removes the file that jp_output_create() made. */
void jp_output_remove(struct jp_output *output);
/* Closes and frees, whatever was written. NULL is fine. */
void jp_output_abandon(struct jp_output *output);
