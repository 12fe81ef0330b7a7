/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/base/error.h"

/*
 * What a gated capture watched (the file `intervals`, docs/gate-protocol.md): processes that
 * announced themselves, and when samples were taken of each. One pid may announce itself again: it
 * may have exec'd since.
 */
struct jp_interval {
	uint32_t process;           /* index of its announcement */
	uint32_t pid;               /* that of its announcement */
	uint64_t enabling, enabled; /* ns around the enabling */
	uint64_t disabling, disabled;
};

struct jp_announced {
	uint32_t pid;
	uint64_t asked, answered; /* ns, by the gatekeeper */
	char comm[64];            /* as /proc had it; "?": it was gone */
};

struct jp_intervals {
	char gate[16]; /* "none", "backfill", "sideband"; "": not a gated capture */
	struct jp_announced *processes; /* by time */
	size_t nr_processes, processes_capacity;
	struct jp_interval *intervals; /* by time; no two overlap */
	size_t nr_intervals, intervals_capacity;
};

/* @name stands in messages. @text is changed. */
int jp_intervals_parse(struct jp_intervals *intervals, const char *name, char *text,
		       struct jp_error *err);
void jp_intervals_free(struct jp_intervals *intervals);
/* The interval that may hold a sample of @time, brackets and @slack included; NULL: none. */
const struct jp_interval *jp_intervals_at(const struct jp_intervals *intervals, uint64_t time,
					  uint64_t slack);
/* The announcement that counts for @pid at @time: the last one by then, else its first; NULL: it
 * never announced itself. */
const struct jp_announced *jp_intervals_process(const struct jp_intervals *intervals, uint32_t pid,
						uint64_t time);
