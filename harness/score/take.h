/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/run/runner.h"
#include "harness/score/score.h"

/* How to take a score. */
struct jp_score_plan {
	const char *profiler; /* an adapter's name; "jitproof" or NULL: our own capture */
	bool launches;
	unsigned frequency, samples, seconds, stack;
	const char *publish;
	const struct jp_cases *lines; /* of scenes (harness/score/scenes.h) */
	char *const *globs;           /* of scenes; none: all */
	int nr_globs;
	const char *dir; /* for the folders of cases */
	void (*progress)(const char *workload);
	/* After each, the @number-th of @count; NULL: nobody asks. */
	void (*ran)(size_t number, size_t count, const struct jp_score_row *row);
};

/* The first glob of @plan that no scene matches, in *@glob; NULL: there is none. 0, or -EINVAL and
 * a message. */
int jp_score_unmatched(const struct jp_score_plan *plan, const char **glob, struct jp_error *err);
/* Prints the name of each scene that @plan asks for, a line each. */
int jp_score_list(const struct jp_score_plan *plan, FILE *out, struct jp_error *err);
/* Runs each scene under the profiler of @plan, and judges none. 0; or -errno and a message where
 * nothing can be run: -ENOENT where the profiler is missing. */
int jp_score_take(const struct jp_score_plan *plan, const struct jp_runner *runner,
		  struct jp_score *score, struct jp_error *err);
/* Judges what was watched, which needs no rights. */
void jp_score_judge(struct jp_score *score);
