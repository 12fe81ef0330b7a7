/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/base/arguments.h"
#include "harness/base/error.h"
#include "harness/base/json.h"

/* Anyone's profiler, by its adapter (harness/capture/adapter.h). */
/* The version of @name's profiler in @text; -ENOENT and what is missing where it cannot run;
 * any other failure is the adapter's own, with its last words. What
 * was found once is not asked for again. Not locked. */
int jp_profiler_version(const char *name, char *text, size_t size, struct jp_error *err);
/*
 * Whether @name is here and knows what @words (NULL-terminated, or NULL) say beside @verb: the
 * profiler's own options, of a case's capture or inject. As jp_profiler_version() else.
 */
int jp_profiler_can(const char *name, const char *verb, char **words, struct jp_error *err);
/* Adds @words as an adapter takes them. */
void jp_profiler_words(struct jp_arguments *arguments, char **words);
/* A string "NAME": "VERSION" for each adapter, null where the profiler is not there. @only: those
 * alone (NULL-terminated); NULL: all, which starts each profiler once. */
void jp_profilers_describe(struct jp_json *json, const char *const *only);
/*
 * True where @line says that the profiler died of a signal ("crash SIGNAL WHY") or failed ("failed
 * WHY"). @dir/crash is for the judge, "@verb SIGNAL WHY" with '-' for no signal; @err has WHY.
 */
bool jp_profiler_crashed(const char *dir, const char *verb, const char *line, struct jp_error *err);
/*
 * @name, with these words of its own, merges @dir/perf.data and the jitdumps into
 * @dir/injected.data. -ECHILD: the profiler
 * crashed or failed, with its last words in @err and in @dir/crash.
 */
int jp_profiler_inject(const char *name, char **with, const char *dir, uint64_t deadline,
		       struct jp_error *err);
