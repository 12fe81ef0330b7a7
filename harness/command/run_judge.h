/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "harness/report/report.h"

/*
 * `run` is three processes: the runner, which needs rights to watch; the judge, which has none,
 * reads what the runner and its workloads wrote, and reports (harness/base/confine.h); and the one
 * that stays behind, which outlives the runner and ends what it leaves.
 */
struct jp_run_judge {
	int channel;  /* the runner's end */
	pid_t parent; /* the one that stays behind */
};

struct jp_run_start {
	struct jp_report *report; /* of @plan results of @cases */
	const struct jp_cases *cases;
	size_t plan;
	uint64_t seed;
	const char *output;     /* the folder asked for; NULL: a temporary one */
	struct jp_run_dir *dir; /* empty; the runner makes it */
	bool keep;              /* the run directory */
};

/* Returns in the runner alone: 0, or -errno and a message where nothing was started. 1 in the
 * others: that is the end, with *@status. */
int jp_run_judge_start(struct jp_run_judge *judge, const struct jp_run_start *start, int *status,
		       struct jp_error *err);

/* What the judge is to do next with the case number @index of all; each waits for it, and returns
 * false where it is gone. */
/* Judges what lies in @dir, where @watched, and tells what came of it: its outcome into @result. */
bool jp_run_judge_case(const struct jp_run_judge *judge, size_t index, const char *dir,
		       bool watched, struct jp_result *result);
/* Says only that it was watched, or what else became of it. */
bool jp_run_judge_unjudged(const struct jp_run_judge *judge, size_t index, bool watched,
			   const struct jp_result *result);
/* The run ends early; @why. */
bool jp_run_judge_cut_short(const struct jp_run_judge *judge, const char *why);
/* Whether the one that stays behind was killed: nobody else removes what the run leaves. */
bool jp_run_judge_orphaned(const struct jp_run_judge *judge);
/* All is told: the totals, and junit.xml into @junit (-1: not wanted). The exit status. */
bool jp_run_judge_end(const struct jp_run_judge *judge, int junit, int *status);
