/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/case/case.h"

/* Returns whether @words is a value of --readers: none, own, all, or readers separated by commas,
 * such as "perf" or "perf-7.3". */
bool jp_readers_are_valid(const char *words);
/* Asks readers (docs/readers.md) for the samples of @dir's perf.data and injected.data, and keeps
 * their answers in @dir/shown. @words: a valid value; with "own", each file is read by the profiler
 * that wrote it, if any. Returns 0, or -errno and a message. */
int jp_readers_ask(const char *words, const struct jp_case *cas, const char *dir,
		   struct jp_error *err);
