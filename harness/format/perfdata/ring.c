// SPDX-License-Identifier: GPL-2.0-only
#include "harness/format/perfdata/ring.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int jp_perf_ring_map(struct jp_perf_ring *ring, int fd, size_t size)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	void *base = mmap(NULL, page + size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	*ring = (struct jp_perf_ring){0};
	if (base == MAP_FAILED)
		return -errno;
	*ring = (struct jp_perf_ring){
		.page = base, .data = (unsigned char *)base + page, .size = size};
	return 0;
}

void jp_perf_ring_unmap(struct jp_perf_ring *ring)
{
	if (ring->page)
		munmap(ring->page, (size_t)(ring->data - (unsigned char *)ring->page) + ring->size);
	*ring = (struct jp_perf_ring){0};
}

void jp_perf_ring_load_head(struct jp_perf_ring *ring)
{
	const struct perf_event_mmap_page *page = ring->page;

	ring->head = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE);
}

struct jp_perf_record *jp_perf_ring_next(struct jp_perf_ring *ring, void *buffer)
{
	const size_t offset = ring->tail & (ring->size - 1), first = ring->size - offset;
	/* Sizes of records are multiples of 8, so a header never wraps. */
	struct jp_perf_record *record = (void *)(ring->data + offset);
	const size_t size = ring->tail == ring->head ? 0 : record->size;

	if (size < sizeof(*record) || size > ring->head - ring->tail)
		return NULL;
	ring->tail += size;
	if (size <= first)
		return record;
	memcpy(buffer, record, first);
	memcpy((unsigned char *)buffer + first, ring->data, size - first);
	return buffer;
}

void jp_perf_ring_release(struct jp_perf_ring *ring)
{
	struct perf_event_mmap_page *page = ring->page;

	__atomic_store_n(&page->data_tail, ring->tail, __ATOMIC_RELEASE);
}
