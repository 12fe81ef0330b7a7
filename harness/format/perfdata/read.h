/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/base/error.h"
#include "harness/format/event.h"
#include "harness/format/perfdata/summary.h"

struct jp_perf_reader;

/*
 * Reads a perf.data file, folder or pipe stream ("-" is standard input) of any perf version: MMAP
 * and MMAP2 (with build ids too), several attrs with different sample types,
 * PERF_SAMPLE_IDENTIFIER, compressed data (where libzstd was found at build time), pipe headers.
 * Events come in the order of time, by perf's own rule for rounds; a sample whose callchain was
 * deferred has it (in a file: a stream cannot be looked ahead in). Memory is bounded by one round
 * of the file and its deferred callchains. What it cannot read it names with file, offset and what
 * was expected, and returns -errno; records of kinds that it does not know are counted and passed
 * over. A file that is cut short, or was never finished, is -ENODATA, and summary->cut_short: all
 * that lies before was visited.
 */
int jp_perfdata_read(const char *path, jp_event_visit visit, void *context,
		     struct jp_perfdata_summary *summary, struct jp_error *err);
/* Reads the file @path with @reader, whose visit, opened, other, context, summary and err are set.
 */
int jp_perf_reader_run(struct jp_perf_reader *reader, const char *path);
