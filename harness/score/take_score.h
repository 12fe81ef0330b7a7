/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/base/globs.h"
#include "harness/run/runner.h"
#include "harness/score/score.h"

/* Options of taking a score. */
struct jp_score_plan {
	const char *profiler; /* an adapter; "jitproof" or NULL: our own capture */
	bool launches;
	unsigned frequency, samples, seconds, stack;
	const char *publish;
	const struct jp_cases *lines; /* lines of scenes (harness/score/scenes.h) */
	struct jp_arguments globs;    /* scenes to run; none: all */
	const char *dir;              /* parent of the cases' folders */
	void (*progress)(const char *workload);
	/* Called after the @number-th of @count cases; may be NULL. */
	void (*report_case)(size_t number, size_t count, const struct jp_score_row *row);
};

/* Reads the globs of @plan from @words; the caller frees them. Returns 0, or -errno and a message;
 * -ENOENT: a word matches no scene. */
int jp_score_choose_scenes(struct jp_score_plan *plan, const struct jp_operands *words,
			   struct jp_error *err);
/* Prints the names of @plan's scenes, a line each. Returns 0, or -errno and a message. */
int jp_score_list(const struct jp_score_plan *plan, FILE *out, struct jp_error *err);
/* Runs each scene under @plan's profiler, without judging. Returns 0, or -errno and a message if
 * nothing can run; -ENOENT: the profiler is missing. */
int jp_score_take(const struct jp_score_plan *plan, const struct jp_runner *runner,
		  struct jp_score *score, struct jp_error *err);
/* Judges the recorded cases, which needs no privileges. */
void jp_score_judge(struct jp_score *score);
