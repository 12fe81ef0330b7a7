/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/case/case.h"

/* A scene is one workload under one profiler. These are the settings that all scenes share. */
struct jp_score_way {
	const char *profiler; /* NULL: our own capture */
	bool launches;        /* the profiler can launch as well as attach */
	const char *options;  /* options of the capture */
	const char *keys;     /* further keys of the case */
};

/* Reads the scenes in @file (NULL: results/scenes), a line each. Reads @file only once, because it
 * may be a pipe. Returns NULL and a message if a line is bad. */
struct jp_cases *jp_score_read_scenes(const char *file, struct jp_error *err);
/* Returns the scenes of a score: @lines, then one scene that attaches to each workload that has
 * none in @lines. Scenes are cases of the study `score` without expectations. Returns NULL and a
 * message on errors. */
struct jp_cases *jp_score_scenes(const struct jp_score_way *start_method,
				 const struct jp_cases *lines, struct jp_error *err);
/* Returns the name of @scene without the name of the study. */
const char *jp_score_name(const struct jp_case *scene);
