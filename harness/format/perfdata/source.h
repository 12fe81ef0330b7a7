/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/base/error.h"

/*
 * The bytes of a perf.data. A regular file is mapped and read in place; a stream comes in chunks.
 * Either way what was read stays until nobody needs it, and no longer.
 */

/* Bytes that records lie in outside the mapped file; freed with the last reference. */
struct jp_chunk {
	size_t refs, capacity, used;
	unsigned char *bytes;
};
/* One reference is the caller's. NULL: no memory. */
struct jp_chunk *jp_chunk_new(size_t capacity);
void jp_chunk_put(struct jp_chunk *chunk); /* NULL is fine */

struct jp_perf_source {
	const char *name; /* for messages */
	int fd;
	bool close_fd;
	const unsigned char *map; /* regular files; else NULL */
	uint64_t size;            /* of the file; a stream: UINT64_MAX */
	uint64_t at;              /* offset of the next byte */
	uint64_t end;             /* offset where reading ends */
	uint64_t populated, dropped;
	struct jp_chunk *chunk; /* streams: holds the next byte at @chunk_at */
	size_t chunk_at;
};

/* @path "-": standard input. -EISDIR: a folder. */
int jp_source_open(struct jp_perf_source *source, const char *path, struct jp_error *err);
/* The same of the regular file @fd of @size > 0 bytes, which is the source's from now on. @name
 * must live as long. */
int jp_source_take(struct jp_perf_source *source, int fd, const char *name, uint64_t size,
		   struct jp_error *err);
/* 0, or -errno and a message: the file is not any more what it was when it was opened. */
int jp_source_check(const struct jp_perf_source *source, struct jp_error *err);
void jp_source_close(struct jp_perf_source *source);
/* The next @size bytes, in one piece, without going on; *@have is how many there are: fewer only at
 * the end. NULL: the read failed, or no memory. They stay as long as a reference on source->chunk
 * is held (streams) or until jp_source_drop() (files). */
const unsigned char *jp_source_peek(struct jp_perf_source *source, size_t size, size_t *have,
				    struct jp_error *err);
/* Goes on by @size bytes that were peeked at. */
void jp_source_advance(struct jp_perf_source *source, size_t size);
/* Goes on by @size bytes of any number; *@skipped is how many there were. */
int jp_source_skip(struct jp_perf_source *source, uint64_t size, uint64_t *skipped,
		   struct jp_error *err);
/* Nothing before offset @before is needed any more. */
void jp_source_drop(struct jp_perf_source *source, uint64_t before);
