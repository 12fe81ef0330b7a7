/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/base/map.h"
#include "harness/trace/published.h"
#include "harness/trace/tally.h"

/* What is remembered of a process from burst to burst. */
struct jp_checked_process {
	uint32_t pid, execs;                 /* execs: those before */
	struct jp_published_files published; /* of its last burst */
	struct jp_map first; /* instruction pointer -> first byte, and the line that named it */
	struct jp_map
		ran[JP_SOURCES]; /* instruction pointer -> how often, with and without a name */
	uint64_t loads, future, early, disorder; /* records of jitdumps, as in struct jp_tally */
};

/* Compares each instruction with what its process publishes. Starts as zeros, except for @tally. */
struct jp_checks {
	struct jp_tally *tally;
	uint64_t launched;                          /* CLOCK_MONOTONIC, ns; 0: unknown */
	const struct jp_published_files *published; /* of @now */
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

/* Begins a burst: reads what the stopped process @pid publishes, which called exec @execs times
 * while it was traced. Counts names that were missing in
 * earlier bursts and are there now as late. Returns 0, or -errno and a message; -ENOMEM alone
 * concerns more than this process. */
int jp_checks_begin(struct jp_checks *checks, uint32_t pid, uint32_t execs, struct jp_error *err);
/* Fills in what the files state of @insn, whose other members are set, and counts it. */
void jp_checks_apply(struct jp_checks *checks, struct jp_trace_insn *insn,
		     const struct jp_checks_step *step);
/* Returns a number for the published function at @addr, or 0. */
size_t jp_checks_function(struct jp_checks *checks, uint64_t addr);
/* Reads the files a last time, counts late names, and adds the counts of processes to the tally. */
void jp_checks_end(struct jp_checks *checks);
void jp_checks_free(struct jp_checks *checks);
