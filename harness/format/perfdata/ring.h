/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/format/perfdata/format.h"

/* A ring into which the kernel writes an event's records; all zero: not mapped. */
struct jp_perf_ring {
	void *page;          /* the control page; the records follow it */
	unsigned char *data; /* the records */
	size_t size;         /* bytes of @data, a power of two */
	uint64_t tail, head; /* of the endless stream of bytes: read up to, known up to */
};

/* Maps one of @size bytes, a power of two of pages, for the event @fd. 0 or -errno. */
int jp_perf_ring_map(struct jp_perf_ring *ring, int fd, size_t size);
void jp_perf_ring_unmap(struct jp_perf_ring *ring); /* one that is not mapped is fine */
/* Where the byte at @at of the stream lies. */
static inline void *jp_perf_ring_at(const struct jp_perf_ring *ring, uint64_t at)
{
	return ring->data + (at & (ring->size - 1));
}

/* Takes note of how far the kernel has written. */
void jp_perf_ring_look(struct jp_perf_ring *ring);
/*
 * The next record up to there; NULL: there is none, or, where @tail is not @head, none can be found
 * any more, which only a broken kernel does. It lies in the ring, whose it is until
 * jp_perf_ring_release(), or, where it wraps, in @whole, JP_PERF_RECORD_MOST bytes aligned to 8.
 */
struct jp_perf_record *jp_perf_ring_next(struct jp_perf_ring *ring, void *whole);
/* What was read is the kernel's to overwrite. */
void jp_perf_ring_release(struct jp_perf_ring *ring);
