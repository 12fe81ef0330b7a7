/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/base/error.h"
#include "harness/format/event.h"
#include "harness/format/perfdata/summary.h"

struct jp_perf_reader;

/*
 * Reads a perf.data file, folder or pipe stream ("-" is standard input) of any perf version. Calls
 * @visit with each event, ordered by time by perf's rule for rounds. Sets the user part of deferred
 * callchains, except in a stream, which cannot be read ahead. Skips and counts records of unknown
 * types. Returns 0, another value of @visit, or -errno and a message. For a file that is cut short
 * or unfinished, visits all events before the end, sets summary->cut_short and returns -ENODATA.
 */
int jp_perfdata_read(const char *path, jp_event_visit visit, void *context,
		     struct jp_perfdata_summary *summary, struct jp_error *err);
/* Reads @path with @reader, whose visit, opened, other, context, summary and err are set. */
int jp_perf_reader_run(struct jp_perf_reader *reader, const char *path);
