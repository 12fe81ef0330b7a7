/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/trace/checks.h"
#include "harness/trace/threads.h"

struct jp_trace_options {
	uint64_t seed;        /* not 0 */
	uint32_t bursts;      /* number of bursts with emitted code; without, five times as many */
	uint32_t steps;       /* most instructions of one */
	uint32_t interval_ms; /* average time between bursts */
	uint64_t launched;    /* when the command started (CLOCK_MONOTONIC, ns); 0: unknown */
};

/* A trace, which starts as zeros. */
struct jp_trace {
	struct jp_tally tally;
	struct jp_checks checks; /* private, like the next */
	struct jp_shadow shadow;
	uint64_t random;
};

/* Traces the threads in bursts at random moments, until enough bursts are done, until no thread
 * is left, or until a signal of ours. Hands each instruction to @visit. Returns 0, or -errno and a
 * message. */
int jp_trace_run(struct jp_trace *trace, struct jp_threads *threads,
		 const struct jp_trace_options *options, jp_trace_visit *visit, void *context,
		 struct jp_error *err);
/* Completes trace->tally with what the program has published by now, such as at its end. */
void jp_trace_end(struct jp_trace *trace);
void jp_trace_free(struct jp_trace *trace);
