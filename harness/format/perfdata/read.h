/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef JP_PERFDATA_READ_H
#define JP_PERFDATA_READ_H

#include "harness/base/error.h"
#include "harness/format/event.h"

/*
 * Reads a perf.data file or pipe stream ("-" is standard input) of any perf version: MMAP and
 * MMAP2 (with build ids too), several attrs with different sample types, PERF_SAMPLE_IDENTIFIER,
 * compressed data (where libzstd was found at build time), pipe headers. Events come in the order
 * of time, by perf's own rule for rounds; a sample whose callchain was deferred has it (in a file:
 * a stream cannot be looked ahead in). Memory is bounded by one round of the file and its deferred
 * callchains. What it cannot read it names with file, offset and what was expected, and returns
 * -errno; records of kinds that it does not know are counted and passed over.
 */
struct jp_perfdata_summary {
	uint64_t bytes, records, samples, unknown_records;
	uint32_t attrs;
	uint64_t lost_records; /* PERF_RECORD_LOST records */
	uint64_t lost_events;  /* sum of their counts */
	uint64_t lost_samples; /* sum of PERF_RECORD_LOST_SAMPLES */
	bool monotonic;        /* every attr uses CLOCK_MONOTONIC */
	bool pipe, compressed;
	uint32_t e_machine; /* from the arch feature or attr's register mask; 0: unknown */
};

int jp_perfdata_read(const char *path, jp_event_visit visit, void *context,
		     struct jp_perfdata_summary *summary, struct jp_error *err);

#endif
