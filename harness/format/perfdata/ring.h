/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "harness/format/perfdata/format.h"

/* A ring buffer into which the kernel writes an event's records; all zero: not mapped. */
struct jp_perf_ring {
	void *page;          /* the control page; the records follow it */
	unsigned char *data; /* the bytes of the records */
	size_t size;         /* bytes of @data, a power of two */
	uint64_t tail, head; /* positions in the stream of bytes: @tail: read up to here; @head:
				written up to here */
};

/* Maps a ring of @size bytes, a power of two of pages, for the event @fd. Returns 0 or -errno. */
int jp_perf_ring_map(struct jp_perf_ring *ring, int fd, size_t size);
void jp_perf_ring_unmap(struct jp_perf_ring *ring); /* Does nothing if none is mapped. */
/* Returns the address in the ring of byte @offset of the stream. */
static inline void *jp_perf_ring_address(const struct jp_perf_ring *ring, uint64_t offset)
{
	return ring->data + (offset & (ring->size - 1));
}

/* Updates @head with the position up to which the kernel has written. */
void jp_perf_ring_load_head(struct jp_perf_ring *ring);
/* Returns the next record before @head, or NULL if there is none. If @tail then differs from @head,
 * the ring is corrupt, which only a broken kernel causes. The record is in the ring and valid until
 * jp_perf_ring_release(). A record that wraps around the ring's end is copied to @buffer:
 * JP_PERF_RECORD_MOST bytes, aligned to 8. */
struct jp_perf_record *jp_perf_ring_next(struct jp_perf_ring *ring, void *buffer);
/* Lets the kernel overwrite the records read so far. */
void jp_perf_ring_release(struct jp_perf_ring *ring);
