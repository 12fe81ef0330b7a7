/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "harness/report/report.h"

/*
 * `run` has three processes: the runner, which needs privileges to record, and forks a child for
 * each case (harness/run/jobs.h); the judge without privileges, which reads untrusted files and
 * reports (harness/base/confine.h); and a process that outlives the runner and cleans up.
 */
struct jp_run_judge {
	int channel;  /* the runner's end of the channel */
	pid_t parent; /* the process that outlives the runner */
};

struct jp_run_start {
	struct jp_report *report; /* report for @plan results of @cases */
	const struct jp_cases *cases;
	size_t plan;
	uint64_t seed;
	const char *html;       /* path of the page; NULL: none */
	const char *output;     /* the requested folder; NULL: a temporary one */
	struct jp_run_dir *dir; /* empty; the runner creates it */
	bool keep;              /* keep the run directory */
};

/* Returns 0 in the runner, or -errno and a message if nothing was started; 1 in the other
 * processes, which must end with *@status. */
int jp_run_judge_start(struct jp_run_judge *judge, const struct jp_run_start *start, int *status,
		       struct jp_error *err);

/* Requests to the judge about case number @index. Each waits for the answer, and returns false if
 * the judge has ended. */
/* Judges @dir, if @watched, and reports the result. @result: the case's outcome, in and out. */
bool jp_run_judge_case(const struct jp_run_judge *judge, size_t index, const char *dir,
		       bool watched, struct jp_result *result);
/* Reports that the case was recorded, or its other outcome, without judging it. */
bool jp_run_judge_unjudged(const struct jp_run_judge *judge, size_t index, bool watched,
			   const struct jp_result *result);
/* Ends the run early, for the reason @why. */
bool jp_run_judge_cut_short(const struct jp_run_judge *judge, const char *why);
/* Returns whether the process that cleans up was killed. */
bool jp_run_judge_orphaned(const struct jp_run_judge *judge);
/* Reports the totals, writes junit.xml to @junit (-1: none), and stores the exit status. */
bool jp_run_judge_end(const struct jp_run_judge *judge, int junit, int *status);
