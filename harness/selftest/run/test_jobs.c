// SPDX-License-Identifier: GPL-2.0-only
/* Tests which cases may run at the same time as others. */
#include "harness/run/jobs.h"
#include "harness/selftest/support/check.h"

static char *one_process[] = {"attach", "--freq=1999", NULL};
static char *all_ours[] = {"attach", "--system-wide", NULL};
static char *all_theirs[] = {"attach-by", "perf", "-a", NULL};
static const struct jp_case small = {.capture_argv = one_process, .capture_argc = 2};
static const struct jp_case ours = {.capture_argv = all_ours, .capture_argc = 2};
static const struct jp_case theirs = {.capture_argv = all_theirs, .capture_argc = 3};

TEST(jobs)
{
	struct jp_jobs jobs = {.max_running = 2};

	check(jp_jobs_may_start(&jobs, &small) && jp_jobs_may_start(&jobs, &ours) &&
		      jp_jobs_may_start(&jobs, &theirs),
	      "any case may run first");
	jobs.running = 1;
	check(jp_jobs_may_start(&jobs, &small), "a second case of one process may run");
	check(!jp_jobs_may_start(&jobs, &ours) && !jp_jobs_may_start(&jobs, &theirs),
	      "no second case that captures the whole machine may run");
	jobs.runs_alone = true;
	check(!jp_jobs_may_start(&jobs, &small), "none may run beside a whole machine's capture");
	jobs.runs_alone = false;
	jobs.running = 2;
	check(!jp_jobs_may_start(&jobs, &small), "no third case may run if the limit is 2");
}
