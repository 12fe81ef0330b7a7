/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "harness/base/error.h"

/* Which lines of /proc/PID/maps become mapping records, for a process that is older than the
 * capture. */
enum jp_synth {
	JP_SYNTH_NONE,
	JP_SYNTH_PATHS, /* executable lines with a path: the bug of one-collect#295 */
	JP_SYNTH_EXEC,  /* every executable line: correct */
	JP_SYNTH_ALL,   /* also lines without execute permission */
};
const char *jp_synth_text(enum jp_synth synth);

/* The file `capture` of a run directory: facts that a capture records about itself, as lines "key
 * value". Times in ns by CLOCK_MONOTONIC; a time of 0: that did not happen. */
struct jp_capture_info {
	char policy[32];     /* enum jp_synth as text: none, paths, exec, all */
	uint64_t enabled;    /* time when the sideband events were enabled: from then on the capture
				must know all mappings */
	uint64_t sampling;   /* time when sampling was enabled on all threads */
	uint64_t stopped;    /* time when sampling stopped */
	uint64_t slack;      /* measured difference between the clocks of capture and truth, ns */
	uint64_t max_stack;  /* kernel.perf_event_max_stack, 127 by default */
	uint64_t stack_dump; /* requested bytes of a stack dump */
	/* Number of losses by PERF_FORMAT_LOST or by LOST records, whichever is larger. */
	uint64_t lost_sideband, lost_samples;
	uint64_t duplicates;  /* number of dropped samples: two inherited events sampled the same
				 thread */
	bool settled;         /* the threads were listed again until no new thread was found */
	uint64_t breakpoints; /* number of instructions that a breakpoint sampled, or would have if
				 it worked; 0: the capture samples by a clock */
	/* The kernel's count of the sampling events: ns, or hits of breakpoints; 0: unknown. */
	uint64_t counted;

	/* What the capture lacks, as a stream of observations declares it: "no-registers"; "":
	 * nothing. */
	char lacks[32];
	uint64_t first_enabled; /* time when the first event was enabled; 0: unknown */

	/* Result of parsing: the first key that is missing although this project's captures always
	 * write it; NULL: none. */
	const char *absent;

	/* The fields below are not needed for judging. For this project's captures they are
	 * compared with what the case requests. */
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
