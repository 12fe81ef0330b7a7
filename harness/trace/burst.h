/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/trace/checks.h"
#include "harness/trace/threads.h"

struct jp_burst {
	struct jp_threads *threads;
	struct jp_checks *checks; /* checks that have begun */
	struct jp_shadow *shadow; /* an empty shadow stack */
	pid_t tid;                /* a stopped thread of the stopped process */
	uint32_t number, steps;   /* at most @steps instructions */
	jp_trace_visit *visit;
	void *context;
};

/* Executes instructions of one thread and hands each of emitted code, and each of a function that
 * was entered meanwhile, to burst->visit. Ends early before a system call that may wait for the
 * stopped threads or change files: until then what the process publishes stays the same. */
void jp_burst_run(struct jp_burst *burst);
