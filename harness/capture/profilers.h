/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/base/arguments.h"
#include "harness/base/error.h"
#include "harness/base/json.h"

/* External profilers, through their adapters (harness/capture/adapter.h). */
/* Stores the version of @name's profiler in @text, and remembers it. Returns 0; -ENOENT and the
 * missing thing if the profiler cannot run; another -errno and the adapter's last output if the
 * adapter is broken. Not thread-safe. */
int jp_profiler_version(const char *name, char *text, size_t size, struct jp_error *err);
/* Checks that the profiler @name exists and supports the options @words (NULL-terminated, or NULL)
 * of a case with @verb, such as "launch" or "inject". Returns as jp_profiler_version(). */
int jp_profiler_supports(const char *name, const char *verb, char **words, struct jp_error *err);
/* Adds the profiler's options @words, NULL-terminated, to the @arguments of its adapter. */
void jp_profiler_add_words(struct jp_arguments *arguments, char **words);
/* Calls @visit with the name of each adapter, in order. */
void jp_profilers_visit(void (*visit)(const char *name, void *context), void *context);
/* Writes "NAME": "VERSION" for each adapter, or "NAME": null if its profiler is missing.
 * @only_file: names of adapters (NULL-terminated); NULL: all. Starts each adapter at most once. */
void jp_profilers_describe(struct jp_json *json, const char *const *only_file);
/* Returns whether @line states that the profiler died of a signal ("crash SIGNAL WHY"), failed
 * ("failed WHY") or refused its input ("refused WHY"). Then writes @dir/crash for the judge, "@verb
 * SIGNAL WHY" with '-' or "refused" in place of a signal, and WHY into @err. */
bool jp_profiler_has_crashed(const char *dir, const char *verb, const char *line,
			     struct jp_error *err);
/* Makes @name merge @dir/perf.data and the jitdumps into @dir/injected.data. @extra_args: the
 * profiler's own options. Returns 0; -ECHILD: the profiler crashed or failed, with its last output
 * in @err and
 * @dir/crash; or -errno and a message. */
int jp_profiler_inject(const char *name, char **extra_args, const char *dir, uint64_t deadline,
		       struct jp_error *err);
/* Makes the profiler @name write what it shows for the samples of @files (NULL-terminated, in @dir)
 * to files below @dir/shown (docs/readers.md). @only_file: a word that selects some of its
 * installed versions; NULL: the version that records and injects. Returns 0; -ENOENT and the reason
 * if there is no such version; or -errno and a message. */
int jp_profiler_read(const char *name, const char *only_file, const char *const *files,
		     const char *dir, uint64_t deadline, struct jp_error *err);
