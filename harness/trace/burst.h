/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/trace/checks.h"
#include "harness/trace/threads.h"

struct jp_burst {
	struct jp_threads *threads;
	struct jp_checks *checks; /* checks after jp_checks_begin() of the process */
	struct jp_shadow *shadow; /* empty at the start of the burst */
	pid_t tid;                /* the thread to execute; its process is stopped */
	/* @number: number of the burst; @steps: largest number of instructions. */
	uint32_t number, steps;
	jp_trace_visit *visit;
	void *context;
};

/* Executes instructions of one thread, one by one. Calls burst->visit for each instruction in
 * emitted code, and for each one in a function that the thread entered by a call during the burst.
 * Ends early before a system call that may wait for the stopped threads or change files, so that
 * what the process publishes stays the same during a burst. */
void jp_burst_run(struct jp_burst *burst);
