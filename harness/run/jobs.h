/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <sys/types.h>

#include "harness/run/runner.h"

/* One case, in a child process of its own. */
struct jp_job {
	const struct jp_case *cas;
	char dir[4096];
	pid_t pid; /* 0: it does not run */
	int pidfd;
	struct jp_job_result {
		bool watched; /* there is something to judge */
		struct jp_result result;
	} * shared; /* with the child */
};

/* Cases that run side by side. A case that watches the whole machine runs alone. */
struct jp_jobs {
	const struct jp_runner *runner;
	struct pollfd *fds;
	struct jp_job *list; /* by the order of their starts */
	struct jp_job_result *results;
	size_t count, capacity;
	unsigned int running, most;
	bool alone; /* the one that runs must be */
};

/* For @capacity cases, @most of them at once: one, where all rings of this user share one small
 * budget. */
int jp_jobs_open(struct jp_jobs *jobs, const struct jp_runner *runner, size_t capacity,
		 unsigned int most, struct jp_error *err);
/* Whether @cas may start now. */
bool jp_jobs_may_start(const struct jp_jobs *jobs, const struct jp_case *cas);
/* Starts @cas in a folder of its own in @dir. What goes wrong is its result. */
void jp_jobs_start(struct jp_jobs *jobs, const struct jp_case *cas, const struct jp_run_dir *dir);
/* Takes note of those that have ended; where @wait, waits until there is one, or a signal came
 * (harness/base/interrupt.h). */
void jp_jobs_wait(struct jp_jobs *jobs, bool wait);
/* Ends those that still run, and frees all. */
void jp_jobs_close(struct jp_jobs *jobs);
