/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/base/map.h"
#include "harness/trace/published.h"
#include "harness/trace/tally.h"

/* What is remembered of a process from burst to burst. */
struct jp_checked_process {
	uint32_t pid;
	struct jp_map first; /* instruction pointer -> first byte, and the line that named it */
	struct jp_map missing[JP_SOURCES];       /* instruction pointer -> counts without a name */
	uint64_t loads, future, early, disorder; /* records of jitdumps, as in struct jp_tally */
};

/* Compares each instruction with what its process publishes. Starts as zeros, except for @tally. */
struct jp_checks {
	struct jp_tally *tally;
	uint64_t launched; /* CLOCK_MONOTONIC, ns; 0: unknown */
	const struct jp_published_files *published;
	struct jp_checked_process *processes, *now;
	size_t nr_processes, capacity;
	struct jp_map named;    /* instruction pointer -> names, of this burst */
	struct jp_map compared; /* entry of a jitdump whose bytes were compared in this burst */
};

/* One instruction of a burst. */
struct jp_checks_step {
	const struct jp_regs *regs; /* before it */
	unsigned char first;        /* its first byte */
	uint64_t found_at;          /* where readers look it up: a call's return address - 1 */
	uint64_t fp;                /* frame pointer at the entry of its function */
	bool sample;                /* the first of its burst, which began at a random moment */
};

/* Begins a burst: @published is what the process @pid publishes while it is stopped. Counts names
 * that were missing in earlier bursts and are there now as late. Returns 0 or -ENOMEM. */
int jp_checks_begin(struct jp_checks *checks, uint32_t pid,
		    const struct jp_published_files *published);
/* Fills in what the files state of @insn, whose other members are set, and counts it. */
void jp_checks_apply(struct jp_checks *checks, struct jp_trace_insn *insn,
		     const struct jp_checks_step *step);
/* Returns a number for the published function at @addr, or 0. */
size_t jp_checks_function(struct jp_checks *checks, uint64_t addr);
/* Adds the counts of processes to the tally, and frees all. */
void jp_checks_end(struct jp_checks *checks);
