/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/case/case.h"

/* Who watches, and how: what each scene has in common. */
struct jp_score_way {
	const char *profiler; /* NULL: our own capture */
	bool launches;        /* also what could be attached to */
	const char *options;  /* of the capture */
	const char *keys;     /* of the case */
};

/* The lines of results/scenes, or of @file, which is read once: it may be a pipe. NULL and a
 * message where a line is bad. */
struct jp_cases *jp_score_lines(const char *file, struct jp_error *err);
/* What a profiler is asked: @lines, then each workload of which they have none by its name,
 * attached to. Cases of the study `score`, which expect nothing. NULL and a message. */
struct jp_cases *jp_score_scenes(const struct jp_score_way *way, const struct jp_cases *lines,
				 struct jp_error *err);
/* Its name without the study. */
const char *jp_score_name(const struct jp_case *scene);
