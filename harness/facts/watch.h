/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/facts/fact.h"
#include "harness/capture/events.h"
#include "harness/format/perfdata/ring.h"

enum { JP_WATCH_PAGES = 16 }; /* pages of a ring that can hold all records of a probe */
/* A perf event of the calling thread on the probe's CPU, with its own ring. */
struct jp_watch {
	int fd;                       /* -1: not open; the answer has the reason */
	struct jp_perf_layout layout; /* layout of the event's records */
	struct jp_perf_ring ring;
};

/* Bit numbers in the flag word of struct perf_event_attr: the installed header may be older than
 * the kernel. */
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

/* Returns the attr with which captures record mappings, names and processes (jp_attr_sideband()).
 * Children inherit the event. */
struct perf_event_attr jp_watch_sideband(void);
/* Returns the attr of an execution breakpoint as captures use it: a sample with a chain at each
 * execution of the instruction at @addr. */
struct perf_event_attr jp_watch_breakpoint(const void *addr);

/* Opens and enables an event with @attr, and with a ring of @pages pages, a power of two; 0:
 * without a ring. Returns false and notes that as missing in @answer if the kernel rejects it. */
bool jp_watch_open(struct jp_watch *watch, struct perf_event_attr *attr, unsigned int pages,
		   struct jp_answer *answer);
/* Does the same as jp_watch_open() without enabling the event. */
bool jp_watch_open_disabled(struct jp_watch *watch, struct perf_event_attr *attr,
			    unsigned int pages, struct jp_answer *answer);
/* Maps a ring for an event that was opened without one. Returns false and notes that as missing in
 * @answer on failure. */
bool jp_watch_map(struct jp_watch *watch, unsigned int pages, struct jp_answer *answer);
/* Opens the event of jp_watch_sideband() with a ring of JP_WATCH_PAGES. Returns as
 * jp_watch_open(). */
bool jp_watch_code(struct jp_watch *watch, struct jp_answer *answer);
/* Reads the next record into @event. A record that does not match the event's attr becomes a
 * JP_EVENT_OTHER. Pointers in @event are valid until the next call for any watch. Returns false if
 * there is no record. */
bool jp_watch_next(struct jp_watch *watch, struct jp_event *event);
/* Discards all records in the ring. */
void jp_watch_skip(struct jp_watch *watch);
void jp_watch_close(struct jp_watch *watch);
