/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/case/case.h"

/* Returns whether @words is a value of --readers: none, own, all, or readers separated by commas,
 * such as "perf" or "perf-7.3". */
bool jp_readers_are_valid(const char *words);
/* Runs readers (programs that show perf.data files, docs/readers.md) on perf.data and injected.data
 * in @dir, and keeps what they show of the samples in @dir/shown. @words: a valid value of
 * --readers; with "own", each file is read by the profiler that wrote it, if any. Returns 0, or
 * -errno and a message; -EOPNOTSUPP: a named reader is missing or cannot read such files. */
int jp_readers_ask(const char *words, const struct jp_case *cas, const char *dir,
		   struct jp_error *err);
