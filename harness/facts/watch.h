/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/facts/fact.h"
#include "harness/capture/events.h"
#include "harness/format/perfdata/ring.h"

enum { JP_WATCH_PAGES = 16 }; /* size of a ring that holds all records of a probe */
/* An event of the calling thread on the probe's CPU, with a ring of its own. */
struct jp_watch {
	int fd;                       /* -1: none; the answer states the reason */
	struct jp_perf_layout layout; /* of its records */
	struct jp_perf_ring ring;
};

/* Bits of attr's flag word by number: our header may be older than our kernel. */
enum jp_attr_bit {
	JP_ATTR_INHERIT = 1,
	JP_ATTR_MMAP_DATA = 17,
	JP_ATTR_NAMESPACES = 28,
	JP_ATTR_BUILD_ID = 34,
	JP_ATTR_INHERIT_THREAD = 35,
	JP_ATTR_REMOVE_ON_EXEC = 36,
	JP_ATTR_SIGTRAP = 37,
	JP_ATTR_DEFER_CALLCHAIN = 38,
	JP_ATTR_DEFER_OUTPUT = 39,
};
void jp_attr_set_bit(struct perf_event_attr *attr, unsigned int bit);

/* Returns the attr of the captures' sideband event, which children inherit: records of mappings,
 * names and processes. */
struct perf_event_attr jp_watch_sideband(void);
/* Returns the attr of the captures' breakpoint: a sample with a chain at each execution of the
 * instruction at @addr. */
struct perf_event_attr jp_watch_breakpoint(const void *addr);

/* Opens and enables the event with a ring of @pages pages, a power of two, or without one if 0.
 * Returns false if the kernel rejects it, and states that as missing. */
bool jp_watch_open(struct jp_watch *watch, struct perf_event_attr *attr, unsigned int pages,
		   struct jp_answer *answer);
/* Does the same without enabling the event. */
bool jp_watch_open_disabled(struct jp_watch *watch, struct perf_event_attr *attr,
			    unsigned int pages, struct jp_answer *answer);
/* Maps a ring for an event without one. Returns false on failure, and states that as missing. */
bool jp_watch_map(struct jp_watch *watch, unsigned int pages, struct jp_answer *answer);
/* Opens jp_watch_sideband() with a ring of JP_WATCH_PAGES, as jp_watch_open() does. */
bool jp_watch_code(struct jp_watch *watch, struct jp_answer *answer);
/* Reads the next record. A record that does not match its attr is a JP_EVENT_OTHER. The event's
 * pointers lead to a copy that lasts until the next call for any watch. Returns false if there is
 * no record. */
bool jp_watch_next(struct jp_watch *watch, struct jp_event *event);
/* Discards all records in the ring. */
void jp_watch_skip(struct jp_watch *watch);
void jp_watch_close(struct jp_watch *watch);
