/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/facts/fact.h"
#include "harness/capture/events.h"
#include "harness/format/perfdata/ring.h"

enum { JP_WATCH_PAGES = 16 }; /* of a ring that takes what a probe does */
/* An event of the calling thread on the probe's CPU, with a ring of its own. */
struct jp_watch {
	int fd;                       /* -1: there is none, and the answer says why */
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
void jp_attr_set(struct perf_event_attr *attr, unsigned int bit);

/* Mappings, names and processes: the sideband event of the captures. Their children inherit it. */
struct perf_event_attr jp_watch_sideband(void);
/* A sample with a chain at each execution of the instruction at @addr, as the captures ask for it.
 */
struct perf_event_attr jp_watch_breakpoint(const void *addr);

/* Opens it, as it is: what is disabled is enabled afterwards. False: there is no such event, and
 * the answer says why. @pages of ring, a power of two; 0: no ring. */
bool jp_watch_open(struct jp_watch *watch, struct perf_event_attr *attr, unsigned int pages,
		   struct jp_answer *answer);
/* The same with an event that is left as it is. */
bool jp_watch_open_disabled(struct jp_watch *watch, struct perf_event_attr *attr,
			    unsigned int pages, struct jp_answer *answer);
/* A ring for an event that has none yet. */
bool jp_watch_map(struct jp_watch *watch, unsigned int pages, struct jp_answer *answer);
/* jp_watch_sideband() with a ring of JP_WATCH_PAGES. */
bool jp_watch_code(struct jp_watch *watch, struct jp_answer *answer);
/* The next record that is there; false: there is none. One that says other than its attr asked for
 * is a JP_EVENT_OTHER. Its pointers lead to a copy that lasts until the next call for any watch. */
bool jp_watch_next(struct jp_watch *watch, struct jp_event *event);
/* Forgets what is there. */
void jp_watch_skip(struct jp_watch *watch);
void jp_watch_close(struct jp_watch *watch);
