/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "harness/base/error.h"

/* Which mappings of /proc/PID/maps are synthesized if a process is older than the capture. */
enum jp_synth {
	JP_SYNTH_NONE,
	JP_SYNTH_PATHS, /* executable entries with a path: the bug of one-collect#295 */
	JP_SYNTH_EXEC,  /* every executable entry: correct */
	JP_SYNTH_ALL,   /* also entries without execute permission */
};
const char *jp_synth_text(enum jp_synth synth);

/* The file `capture` of a run directory: facts that a capture records about itself, as lines "key
 * value". Times in ns by CLOCK_MONOTONIC; 0: did not happen. */
struct jp_capture_info {
	char policy[32];     /* synth policy: none, paths, exec, all */
	uint64_t enabled;    /* time when sideband was enabled: coverage counts from then on */
	uint64_t sampling;   /* sampling enabled on all threads */
	uint64_t stopped;    /* time when sampling stopped */
	uint64_t slack;      /* measured difference of both clocks, ns */
	uint64_t max_stack;  /* kernel.perf_event_max_stack, 127 by default */
	uint64_t stack_dump; /* requested bytes */
	/* Losses by PERF_FORMAT_LOST or by LOST records, the larger. */
	uint64_t lost_sideband, lost_samples;
	uint64_t duplicates;  /* dropped samples of a thread that two inherited events sampled */
	bool settled;         /* threads were listed until no new thread was found */
	uint64_t breakpoints; /* instructions with a breakpoint; 0: a sampling capture */
	/* Count of the sampling events by the kernel: ns, or hits of breakpoints; 0: unknown. */
	uint64_t counted;

	/* What the capture lacks, as a stream of observations declares it: "no-registers"; "":
	 * nothing. */
	char lacks[32];
	uint64_t first_enabled; /* time when the first event was enabled; 0: unknown */

	/* Result of parsing: the first missing key of those that our captures always write; NULL:
	 * all exist. */
	const char *absent;

	/* The rest is not needed for judging; for our captures it is compared with the case. */
	char capture[32], order[32], event[32];
	uint64_t samples, frequency_asked, frequency;
	uint64_t ring_sampling, ring_sideband, cpus, threads, thread_passes;
	uint64_t snapshots, snapshot_readings, snapshots_unstable;
	bool kernel, format_lost;
	uint64_t duplicates_sideband, breakpoints_hit;
};

/* Writes @dir/capture. Returns 0, or -errno and a message. */
int jp_capture_info_write(const struct jp_capture_info *info, const char *dir,
			  struct jp_error *err);
/* Parses @text, which is changed; messages use @name. The keys that judging needs must exist.
 * Returns 0, or -EINVAL and a message. */
int jp_capture_info_parse(struct jp_capture_info *info, const char *name, char *text,
			  struct jp_error *err);
