/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "harness/base/error.h"

/* Mappings synthesized from /proc/PID/maps when a process is older than the capture. */
enum jp_synth {
	JP_SYNTH_NONE,
	JP_SYNTH_PATHS, /* executable entries with a path: the bug of one-collect#295 */
	JP_SYNTH_EXEC,  /* every executable entry: the fix */
	JP_SYNTH_ALL,   /* entries without execute permission too */
};
const char *jp_synth_text(enum jp_synth synth);

/*
 * The file `capture` of a run directory: what a capture knows of itself, as lines "key value".
 * Times in ns by CLOCK_MONOTONIC, 0: did not happen.
 */
struct jp_capture_info {
	char policy[32];     /* synth policy: none, paths, exec, all */
	uint64_t enabled;    /* sideband enabled: coverage counts from here */
	uint64_t sampling;   /* sampling enabled on all threads */
	uint64_t stopped;    /* sampling stopped */
	uint64_t slack;      /* measured difference of the two clocks, ns */
	uint64_t max_stack;  /* kernel.perf_event_max_stack, 127 by default */
	uint64_t stack_dump; /* bytes asked for */
	/* From PERF_FORMAT_LOST and LOST records, the larger. */
	uint64_t lost_sideband, lost_samples;
	uint64_t duplicates;  /* samples dropped because two inherited events saw one thread */
	bool settled;         /* threads were listed until no new one was found */
	uint64_t breakpoints; /* instructions that were given a breakpoint; 0: a sampling capture */
	/* What the sampling events counted, by the kernel: ns, or hits of breakpoints; 0: nobody
	 * asked. */
	uint64_t counted;

	/* What the capture cannot tell, as a stream of observations declares it: "no-registers";
	 * "": it tells all. */
	char lacks[32];
	uint64_t first_enabled; /* when the first of the events was on; 0: not told */

	/* Read alone: the first key that ours always writes and that is not there; NULL: none. */
	const char *absent;

	/* What follows is for readers, and for ours held against the case. */
	char capture[32], order[32], event[32];
	uint64_t samples, frequency_asked, frequency;
	uint64_t ring_sampling, ring_sideband, cpus, threads, thread_passes;
	uint64_t snapshots, snapshot_readings, snapshots_unstable;
	bool kernel, format_lost;
	uint64_t duplicates_sideband, breakpoints_hit;
};

/* Writes @dir/capture. */
int jp_capture_info_write(const struct jp_capture_info *info, const char *dir,
			  struct jp_error *err);
/* From @text, which is changed. @name stands in messages. What judging needs must be there. */
int jp_capture_info_parse(struct jp_capture_info *info, const char *name, char *text,
			  struct jp_error *err);
