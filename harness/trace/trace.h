/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/trace/tally.h"
#include "harness/trace/threads.h"

struct jp_trace_options {
	uint64_t seed;        /* not 0 */
	uint32_t bursts;      /* number of bursts */
	uint32_t steps;       /* most instructions of one */
	uint32_t interval_ms; /* average time between bursts */
	uint64_t launched;    /* when the command started (CLOCK_MONOTONIC, ns); 0: unknown */
};

/* Traces the threads in bursts at random moments, until all bursts are done, until no thread is
 * left, or until a signal of ours. Hands each instruction to @visit, and fills in @tally. Returns
 * 0, or -errno and a message. */
int jp_trace(struct jp_threads *threads, const struct jp_trace_options *options,
	     struct jp_tally *tally, jp_trace_visit *visit, void *context, struct jp_error *err);
