/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <sys/types.h>

#include "harness/run/runner.h"

/* A case that runs in its own child process. */
struct jp_job {
	const struct jp_case *cas;
	char dir[4096];
	pid_t pid; /* 0: not running */
	int pidfd;
	struct jp_job_result {
		bool watched; /* the case can be judged */
		struct jp_result result;
	} * shared; /* memory shared with the child */
};

/* Runs cases in parallel. A case that records the whole machine runs alone. */
struct jp_jobs {
	const struct jp_runner *runner;
	struct pollfd *fds;
	struct jp_job *list; /* all cases started so far, in order of their starts */
	struct jp_job_result *results;
	size_t count, capacity;
	unsigned int running, max_running;
	bool runs_alone; /* the running case must run alone */
};

/* Prepares to run @capacity cases, at most @max at a time. Runs only one at a time if all ring
 * buffers of this user share one small budget (jp_rings_are_rationed()). Returns 0, or -errno and a
 * message. */
int jp_jobs_open(struct jp_jobs *jobs, const struct jp_runner *runner, size_t capacity,
		 unsigned int max, struct jp_error *err);
/* Returns whether @cas may start now. */
bool jp_jobs_may_start(const struct jp_jobs *jobs, const struct jp_case *cas);
/* Starts @cas in a folder of its own in @dir. An error becomes the case's result. */
void jp_jobs_start(struct jp_jobs *jobs, const struct jp_case *cas, const struct jp_run_dir *dir);
/* Reaps the cases that have ended. If @wait, first waits until a case ends or a signal comes
 * (harness/base/interrupt.h). */
void jp_jobs_wait(struct jp_jobs *jobs, bool wait);
/* Ends the running cases, and frees all memory. */
void jp_jobs_close(struct jp_jobs *jobs);
