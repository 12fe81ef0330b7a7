// SPDX-License-Identifier: GPL-2.0-only
#include "harness/trace/announcements.h"

#include <stdlib.h>
#include <unistd.h>

#include "harness/base/cleanup.h"
#include "harness/base/clock.h"
#include "harness/capture/clock_slack.h"
#include "harness/capture/events.h"
#include "harness/format/perfdata/ring.h"
#include "harness/model/space/replay.h"
#include "harness/trace/published.h"

enum { RING_SIZE = 128 << 10 };

/* The records of one CPU. */
struct jp_announcements_ring {
	int fd;
	struct jp_perf_ring ring;
	struct jp_perf_layout layout;
	const struct jp_perf_record *next; /* the oldest record that is not applied; NULL: none */
	uint64_t copy[JP_PERF_RECORD_MOST / sizeof(uint64_t)];
};

static bool open_ring(struct jp_announcements_ring *ring, int cpu)
{
	const struct jp_capture_options options = jp_capture_defaults();
	const struct jp_abilities required = {0};
	struct perf_event_attr attr;

	jp_attr_sideband(&attr, &options, &required);
	attr.disabled = 0;
	jp_attr_layout(&attr, &ring->layout);
	ring->fd = jp_perf_open(&attr, 0, cpu);
	return ring->fd >= 0 && !jp_perf_ring_map(&ring->ring, ring->fd, RING_SIZE);
}

void jp_announcements_open(struct jp_announcements *announced)
{
	jp_cleanup_free int *cpus = NULL;
	const int count = jp_cpus_online(&cpus, NULL);
	bool is_open = count > 0;

	announced->rings = calloc(is_open ? (size_t)count : 1, sizeof(*announced->rings));
	for (int i = 0; is_open && announced->rings && i < count; i++, announced->nr_rings++)
		is_open = open_ring(&announced->rings[i], cpus[i]);
	announced->replay = is_open && announced->rings ? jp_replay_new() : NULL;
}

/* Returns the ring with the oldest record that is not applied, or NULL. */
static struct jp_announcements_ring *find_oldest_record(struct jp_announcements *announced)
{
	struct jp_announcements_ring *oldest = NULL;

	for (unsigned int i = 0; i < announced->nr_rings; i++) {
		struct jp_announcements_ring *ring = &announced->rings[i];

		if (!ring->next) {
			jp_perf_ring_load_head(&ring->ring);
			ring->next = jp_perf_ring_next(&ring->ring, ring->copy);
		}
		if (ring->next &&
		    (!oldest || jp_perf_record_time(&ring->layout, ring->next) <
					jp_perf_record_time(&oldest->layout, oldest->next)))
			oldest = ring;
	}
	return oldest;
}

/* Applies a record. Returns false if @event shows a loss, or without memory. */
static bool apply_event(struct jp_announcements *announced, const struct jp_event *event)
{
	uint64_t *dump, marker;

	if (event->type == JP_EVENT_LOST || jp_replay_apply(announced->replay, event))
		return false;
	if (event->type != JP_EVENT_MAP ||
	    !(marker = jp_published_read_marker(event->map.prot, event->map.name)))
		return true;
	dump = jp_map_at(&announced->dumps, event->pid, sizeof(*dump));
	return dump && (*dump = marker);
}

void jp_announcements_update(struct jp_announcements *announced)
{
	const uint64_t now = jp_clock_now();
	struct jp_announcements_ring *ring;
	struct jp_event event;
	struct jp_regs regs;

	/* Another process may write later records meanwhile: those of two CPUs are in order only up
	 * to @now. */
	while (announced->replay && (ring = find_oldest_record(announced)) &&
	       jp_perf_record_time(&ring->layout, ring->next) <= now) {
		if (jp_perf_decode(&ring->layout, ring->next, &event, &regs) ||
		    !apply_event(announced, &event)) {
			jp_replay_free(announced->replay);
			announced->replay = NULL;
		}
		ring->next = NULL;
		jp_perf_ring_release(&ring->ring);
	}
}

bool jp_announcements_has_code(const struct jp_announcements *announced, uint32_t pid,
			       uint64_t addr)
{
	const struct jp_mapping *mapping = jp_replay_find(announced->replay, pid, addr);

	return mapping && mapping->prot & JP_PROT_EXEC;
}

void jp_announcements_close(struct jp_announcements *announced)
{
	for (unsigned int i = 0; i < announced->nr_rings; i++) {
		jp_perf_ring_unmap(&announced->rings[i].ring);
		if (announced->rings[i].fd >= 0)
			close(announced->rings[i].fd);
	}
	free(announced->rings);
	jp_replay_free(announced->replay);
	jp_map_free(&announced->dumps);
}
