/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/base/error.h"

/* Reads the bytes of a perf.data. A regular file is mapped and read in place; a stream is read in
 * chunks. Both keep bytes only as long as records need them. */

/* Reference-counted memory for records that are not in the mapped file. */
struct jp_chunk {
	size_t refs, capacity, used;
	unsigned char *bytes;
};
/* Returns a chunk with one reference, or NULL without memory. */
struct jp_chunk *jp_chunk_new(size_t capacity);
void jp_chunk_put(struct jp_chunk *chunk); /* @chunk may be NULL */

struct jp_perf_source {
	const char *name; /* name in messages */
	int fd;
	bool close_fd;
	const unsigned char *map; /* regular files: the mapped bytes; else NULL */
	uint64_t size;            /* bytes of the file; a stream: UINT64_MAX */
	uint64_t offset;          /* offset of the next byte */
	uint64_t end;             /* offset at which reading ends */
	uint64_t populated, dropped_end;
	struct jp_chunk *chunk; /* streams: chunk that contains the next byte, at @chunk_at */
	size_t chunk_at;
};

/* Opens @path; "-" is standard input. Returns 0, or -errno and a message; -EISDIR: a folder. */
int jp_source_open(struct jp_perf_source *source, const char *path, struct jp_error *err);
/* Opens the regular file @fd of @size > 0 bytes, which @source then owns. @name must live as long
 * as @source. Returns 0, or -errno and a message. */
int jp_source_adopt(struct jp_perf_source *source, int fd, const char *name, uint64_t size,
		    struct jp_error *err);
/* Checks that the file has not changed since it was opened. Returns 0, or -errno and a message. */
int jp_source_check(const struct jp_perf_source *source, struct jp_error *err);
void jp_source_close(struct jp_perf_source *source);
/* Returns the next @size bytes in one piece without consuming them. Stores in *@available how many
 * bytes exist: fewer than @size only at the end. They stay valid as long as a reference on
 * source->chunk is held (streams) or until jp_source_drop() (files). Returns NULL and a message:
 * the read failed, or no memory. */
const unsigned char *jp_source_peek(struct jp_perf_source *source, size_t size, size_t *available,
				    struct jp_error *err);
/* Consumes @size bytes that jp_source_peek() has returned. */
void jp_source_advance(struct jp_perf_source *source, size_t size);
/* Consumes @size bytes, which may be any number. Stores in *@skipped how many of them existed.
 * Returns 0, or -EIO and a message. */
int jp_source_skip(struct jp_perf_source *source, uint64_t size, uint64_t *skipped,
		   struct jp_error *err);
/* Releases the bytes before offset @before. */
void jp_source_drop(struct jp_perf_source *source, uint64_t before);
