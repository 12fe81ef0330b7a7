/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "harness/base/error.h"

/* Contents of the file `intervals` of a gated capture, which samples only while processes that
 * announced themselves ask for it (docs/gate-protocol.md): these processes, and the intervals in
 * which each was sampled. A pid may announce itself again after an exec. */
struct jp_interval {
	uint32_t process;           /* index of the announcement in jp_intervals.processes */
	uint32_t pid;               /* the process that announced itself */
	uint64_t enabling, enabled; /* times in ns before and after the events were enabled */
	uint64_t disabling, disabled;
};

struct jp_announced {
	uint32_t pid;
	uint64_t announcement_time, answer_time; /* times of the announcement and of the answer, in
				     ns by the gatekeeper's clock */
	char comm[64]; /* name from /proc; "?": the process had ended already */
};

struct jp_intervals {
	char gate[16]; /* "none", "backfill", "sideband"; "": not a gated capture */
	struct jp_announced *processes; /* announcements by time */
	size_t nr_processes, processes_capacity;
	struct jp_interval *intervals; /* intervals by time, which do not overlap */
	size_t nr_intervals, intervals_capacity;
};

/* Parses @text, which is changed; messages use @name. Returns 0, or -EINVAL and a message. */
int jp_intervals_parse(struct jp_intervals *intervals, const char *name, char *text,
		       struct jp_error *err);
void jp_intervals_free(struct jp_intervals *intervals);
/* Returns the interval that may contain a sample of @time if its brackets and @slack are included,
 * or NULL. */
const struct jp_interval *jp_intervals_find(const struct jp_intervals *intervals, uint64_t time,
					    uint64_t slack);
/* Returns the last announcement of @pid until @time, or else its first one, or NULL if the process
 * never announced itself. */
const struct jp_announced *jp_intervals_find_process(const struct jp_intervals *intervals,
						     uint32_t pid, uint64_t time);
/* Returns the time of the records that a backfill writes at @process, an announcement of
 * @intervals: when the events went off, plus 1 ns for each announcement since. @enabled: when the
 * capture began, with its events off. */
uint64_t jp_intervals_get_backfill_time(const struct jp_intervals *intervals,
					const struct jp_announced *process, uint64_t enabled);
