/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/base/map.h"
#include "harness/trace/announcements.h"
#include "harness/trace/published.h"
#include "harness/trace/tally.h"

/* Names for a profiler that attaches at the start of a burst: as @attached and @detached of struct
 * jp_tally. */
struct jp_attached {
	uint64_t nr_attached, nr_detached;
};

/* What the checks remember of a process from burst to burst. After an exec, a process gets a new
 * entry. */
struct jp_checked_process {
	uint32_t pid, execs; /* @execs: number of its earlier execs */
	/* The files as they were at the process's last burst. */
	struct jp_published_files published;
	struct jp_map first_bytes; /* address of an instruction -> its first byte, and the line of
				the perf map that named it */
	struct jp_map ran[JP_SOURCES]; /* address of an instruction -> how often it ran with and
					  without a name */
	bool has_marker;               /* perf finds the jitdump by a mapping of now or earlier */
	/* Number of jitdump records, and of instructions, as in struct jp_tally. */
	uint64_t loads, future, early, disorder;
	uint64_t nr_dumped;
	struct jp_attached attached[JP_SOURCES]; /* at its last burst with emitted code */
};

/* Compares each executed instruction with what its process publishes about it. Starts as zeros,
 * except for @tally. */
struct jp_checks {
	struct jp_tally *tally;
	uint64_t launched; /* time when the program was started (CLOCK_MONOTONIC, ns); 0: unknown */
	struct jp_announcements announced;
	const struct jp_published_files *published; /* files of the process @current */
	struct jp_checked_process *processes, *current;
	size_t nr_processes, capacity;
	struct jp_attached attached[JP_SOURCES]; /* at the start of this burst */
	struct jp_map names; /* address of an instruction -> its names in this burst */
	struct jp_map
		compared; /* number of each jitdump entry whose bytes were compared in this burst */
};

/* Input of the checks for one instruction of a burst. */
struct jp_checks_step {
	const struct jp_regs *regs; /* registers before the instruction */
	unsigned char first_byte;   /* first byte of the instruction */
	uint64_t found_at; /* address by which profilers look the instruction up: for a call the
			      return address - 1 */
	uint64_t fp;       /* frame pointer at the entry of the instruction's function */
	bool sample; /* the first instruction of a burst; as a burst begins at a random moment, it
			counts as a sample */
};

/* Begins a burst in the stopped process @pid, which called exec @execs times while it was traced.
 * Reads what the process publishes. Counts as late the names that were missing in earlier bursts
 * and that exist now. Returns 0, or -errno and a message. After -ENOMEM the trace cannot continue;
 * after other errors only this process cannot be checked. */
int jp_checks_begin(struct jp_checks *checks, uint32_t pid, uint32_t execs, struct jp_error *err);
/* Fills in what the process's files state about @insn, and counts the result. The other members of
 * @insn are set. */
void jp_checks_apply(struct jp_checks *checks, struct jp_trace_insn *insn,
		     const struct jp_checks_step *step);
/* Returns the number of the published entry, from 1, that covers @addr: in the jitdumps, or else in
 * the perf maps. Returns 0 if none covers it. */
size_t jp_checks_function(struct jp_checks *checks, uint64_t addr);
/* Reads the files of all processes a last time, counts late names, and adds the processes' counts
 * to the tally. */
void jp_checks_end(struct jp_checks *checks);
void jp_checks_free(struct jp_checks *checks);
