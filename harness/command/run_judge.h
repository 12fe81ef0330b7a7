/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "harness/report/report.h"

/*
 * `jitproof run` has three processes: the runner, which needs privileges to record, and forks a
 * child for each case (harness/run/jobs.h); the judge, which has no privileges, reads untrusted
 * files and prints the report (harness/base/confine.h); and the parent, which outlives the runner
 * and cleans up.
 */
struct jp_run_judge {
	int channel;  /* the runner's socket for messages to the judge */
	pid_t parent; /* the process that outlives the runner */
};

struct jp_run_start {
	struct jp_report *report; /* the report to write: @plan results of cases in @cases */
	const struct jp_cases *cases;
	size_t plan;
	uint64_t seed;
	const char *html;       /* path of the HTML page to write; NULL: none */
	const char *output;     /* the requested folder; NULL: a temporary one */
	struct jp_run_dir *dir; /* result: the run directory that the runner creates */
	bool keeps_dir;         /* keep the run directory even if @output is NULL */
};

/* Forks the processes. Returns 0 in the runner; 1 in the other processes at their end, which must
 * then exit with *@status; or -errno and a message if nothing was started. */
int jp_run_judge_start(struct jp_run_judge *judge, const struct jp_run_start *start, int *status,
		       struct jp_error *err);

/* Requests of the runner to the judge. @index: index of the case in jp_run_start.cases. Each
 * function waits for the answer, and returns false if the judge has ended. */
/* Makes the judge report the case. If @watched, the judge first judges the folder @dir and stores
 * the outcome in @result; otherwise it reports the outcome in @result. */
bool jp_run_judge_case(const struct jp_run_judge *judge, size_t index, const char *dir,
		       bool watched, struct jp_result *result);
/* Makes the judge report, without judging, that the case was recorded (@watched), or the outcome in
 * @result. */
bool jp_run_judge_unjudged(const struct jp_run_judge *judge, size_t index, bool watched,
			   const struct jp_result *result);
/* Makes the judge end the report early, for the reason @reason. */
bool jp_run_judge_cut_short(const struct jp_run_judge *judge, const char *reason);
/* Returns whether the parent, which should clean up, was killed. */
bool jp_run_judge_orphaned(const struct jp_run_judge *judge);
/* Makes the judge report the totals and write JUnit results to the descriptor @junit (-1: none).
 * Stores the exit status of `jitproof run` in *@status. */
bool jp_run_judge_end(const struct jp_run_judge *judge, int junit, int *status);
