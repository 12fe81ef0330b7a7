/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/trace/instruction.h"
#include "harness/trace/shadow.h"

/* How often something ran. */
struct jp_runs {
	uint64_t insns, samples, forked; /* forked: in forked processes */
};

/* The counts of a trace. Unless stated otherwise they are of emitted code's instructions. */
struct jp_tally {
	uint64_t bursts, refused; /* refused: the process did not stop, or nothing of it ran */
	uint64_t steps;           /* of all code */
	uint64_t emitted, known, uncertain; /* uncertain: the function's frame is; see @shadow */
	uint64_t names[JP_SOURCES][JP_NAMES], samples[JP_SOURCES][JP_NAMES];
	uint64_t forked[JP_SOURCES][JP_NAMES]; /* those of @names in forked processes */
	/* Those of @names with a name when they ran; those whose name is not in the files at the
	 * end; those that ran before an exec of their process; those of them without a name at the
	 * end. */
	uint64_t named[JP_SOURCES], gone[JP_SOURCES];
	uint64_t execed[JP_SOURCES], execed_unnamed[JP_SOURCES];
	uint64_t hidden, dumped; /* with a jitdump that perf does not find; with any jitdump */
	uint64_t by_fp[JP_PLACES][JP_CALLERS], by_dump[JP_PLACES][JP_CALLERS];
	uint64_t functions, differ; /* comparisons of a jitdump's function that ran with memory;
				       those with other bytes */
	/* Records of jitdumps; those later than the moment of reading; earlier than the launch;
	 * earlier than the record before. */
	uint64_t loads, future, early, disorder;
	uint64_t calls, returns, events[JP_SHADOW_EVENTS];
};
