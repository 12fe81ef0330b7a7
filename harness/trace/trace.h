/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/trace/checks.h"
#include "harness/trace/threads.h"

struct jp_trace_options {
	uint64_t seed;   /* seed of the random moments; not 0 */
	uint32_t bursts; /* requested number of bursts that execute emitted code; at most five times
			    as many bursts are made */
	uint32_t steps;  /* largest number of instructions in a burst */
	uint32_t interval_ms; /* average time between bursts */
	uint64_t launched;    /* time when the command started (CLOCK_MONOTONIC, ns); 0: unknown */
};

/* State and results of a trace. Starts as zeros. */
struct jp_trace {
	struct jp_tally tally;
	/* Private: */
	struct jp_checks checks;
	struct jp_shadow shadow;
	uint64_t random;
};

/* Executes the threads in bursts of single steps at random moments, until enough bursts are
 * made, no thread is left, or this process gets an interrupting signal. Calls @visit for each
 * instruction in emitted code, or in a function whose call the burst saw. Returns 0, or -errno
 * and a message. */
int jp_trace_run(struct jp_trace *trace, struct jp_threads *threads,
		 const struct jp_trace_options *options, jp_trace_visit *visit, void *context,
		 struct jp_error *err);
/* Reads what the program has published by now, usually after its end, and completes trace->tally
 * with it. */
void jp_trace_end(struct jp_trace *trace);
void jp_trace_free(struct jp_trace *trace);
