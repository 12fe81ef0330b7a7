/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/case/case.h"

/* Settings of all scenes: the profiler and its options. */
struct jp_score_way {
	const char *profiler; /* NULL: our own capture */
	bool launches;        /* the profiler can launch as well as attach */
	const char *options;  /* options of the capture */
	const char *keys;     /* keys of the case */
};

/* Reads the lines of results/scenes, or of @file, only once, as it may be a pipe. Returns NULL and
 * a message if a line is bad. */
struct jp_cases *jp_score_lines(const char *file, struct jp_error *err);
/* Returns the scenes of a score: @lines, then an attach to each workload that they lack. They are
 * cases of the study `score` without expectations. Returns NULL and a message on errors. */
struct jp_cases *jp_score_scenes(const struct jp_score_way *way, const struct jp_cases *lines,
				 struct jp_error *err);
/* Returns its name without the study. */
const char *jp_score_name(const struct jp_case *scene);
