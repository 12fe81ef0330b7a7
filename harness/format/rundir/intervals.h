/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "harness/base/error.h"

/* Contents of the file `intervals` of a gated capture (docs/gate-protocol.md): processes that
 * announced themselves, and the intervals in which each was sampled. A pid may announce itself
 * again after an exec. */
struct jp_interval {
	uint32_t process;           /* index of its announcement */
	uint32_t pid;               /* the process that announced itself */
	uint64_t enabling, enabled; /* ns around the enabling */
	uint64_t disabling, disabled;
};

struct jp_announced {
	uint32_t pid;
	uint64_t asked, answered; /* ns by the gatekeeper's clock */
	char comm[64];            /* from /proc; "?": the process had ended already */
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
/* Returns the interval that may contain a sample of @time, if brackets and @slack are included, or
 * NULL. */
const struct jp_interval *jp_intervals_find(const struct jp_intervals *intervals, uint64_t time,
					    uint64_t slack);
/* Returns the announcement that is valid for @pid at @time: the last one up to then, else the first
 * one. NULL: the process never announced itself. */
const struct jp_announced *jp_intervals_find_process(const struct jp_intervals *intervals,
						     uint32_t pid, uint64_t time);
/* Returns the time of the records that a backfill writes at @process, an announcement of
 * @intervals: when the events went off, plus 1 ns for each announcement since. @enabled: when the
 * capture began, with its events off. */
uint64_t jp_intervals_date(const struct jp_intervals *intervals, const struct jp_announced *process,
			   uint64_t enabled);
