/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/trace/instruction.h"
#include "harness/trace/shadow.h"

/* Number of times that an instruction ran. */
struct jp_runs {
	uint64_t insns, samples, forked; /* @insns: in total; @samples: as the first of a burst;
					    @forked: in forked processes */
};

/* The counts of a trace, all of type uint64_t. Unless stated otherwise, they count executed
 * instructions of emitted code. */
struct jp_tally {
	uint64_t bursts, refused; /* number of bursts; @refused: attempts in which the process did
				     not stop or had no running thread */
	uint64_t steps;           /* instructions of all code */
	uint64_t emitted, nr_known, uncertain; /* @nr_known: the trace saw the function's call;
					       @uncertain: the function's frame is uncertain */
	uint64_t names[JP_SOURCES][JP_NAMES], samples[JP_SOURCES][JP_NAMES];
	uint64_t forked[JP_SOURCES][JP_NAMES]; /* the part of @names in forked processes */
	/* @nr_named: had a name when they ran; @nr_gone: of these, the files no longer contain the
	 * name at the end. @execed: ran before an exec of their process; @execed_unnamed: of these,
	 * the files contain no name at the end. */
	uint64_t nr_named[JP_SOURCES], nr_gone[JP_SOURCES];
	uint64_t execed[JP_SOURCES], execed_unnamed[JP_SOURCES];
	/* @attached: had a name when they ran, before the process's last burst with emitted code;
	 * @detached: of these, no name in the files for a profiler that attaches at that burst. */
	uint64_t attached[JP_SOURCES], detached[JP_SOURCES];
	/* @announced: the mapping records are known; @unannounced: of these, no record announces
	 * the memory. */
	uint64_t announced, unannounced;
	uint64_t nr_hidden,
		nr_dumped; /* @nr_hidden: the process has a jitdump that perf does not find;
			@nr_dumped: it has any jitdump */
	uint64_t by_fp[JP_PLACES][JP_CALLERS], by_dump[JP_PLACES][JP_CALLERS];
	/* @nr_functions: comparisons of the bytes of an executed function in a jitdump with memory;
	 * @nr_differing: those in which the bytes differ. */
	uint64_t nr_functions, nr_differing;
	/* @loads: records of jitdumps; @future: of these, later than the moment of reading; @early:
	 * earlier than the start of the program; @disorder: earlier than the previous record. */
	uint64_t loads, future, early, disorder;
	uint64_t calls, returns, events[JP_SHADOW_EVENTS];
};
