/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Whether the feature EVENT_DESC describes the events of the attrs. */
enum jp_described {
	JP_DESCRIBED_NOT,
	JP_DESCRIBED_ALIKE,
	JP_DESCRIBED_OTHER_NAME, /* another name than that of our captures */
	JP_DESCRIBED_OTHER,
};

/* Properties and contents of a perf.data file. */
struct jp_perfdata_summary {
	uint64_t bytes, records, samples, unknown_records;
	uint64_t own_records; /* records of perf's own types */
	uint32_t attrs;
	uint64_t unknown_ids;  /* records with an id of no attr, read with the first attr */
	uint32_t overwritten;  /* features overwritten by the attrs */
	uint64_t behind;       /* number of records older than their round allows */
	uint64_t lost_records; /* PERF_RECORD_LOST records */
	uint64_t lost_events;  /* sum of their counts */
	uint64_t lost_samples; /* sum of PERF_RECORD_LOST_SAMPLES */
	bool cut_short; /* the file ends before its data, or its header contains no data size */
	bool unwritten; /* the header contains neither attrs nor data: its writer failed */
	bool monotonic; /* every attr uses CLOCK_MONOTONIC */
	bool pipe, compressed;
	bool swapped;     /* in the other byte order */
	char arch[32];    /* recorded machine, as uname() reports it; "": unknown */
	char release[64]; /* its kernel, as uname() reports it */
	uint32_t cpus;    /* its number of CPUs, on- or offline; 0: unknown */
	uint32_t cpus_on; /* number of CPUs online */
	char version[64]; /* version that the writing tool states; "": unknown */
	/* Features about the events that can be compared with the records. */
	bool has_sample_times, has_clock_resolution;
	uint64_t sample_times[2]; /* times of the first and last sample according to the feature */
	uint64_t first_sample, last_sample; /* times of the first and last sample according to the
					       samples; 0: none */
	uint64_t clock_resolution;          /* ns */
	enum jp_described described;        /* event names compared with those of our captures */
	uint64_t last_ids;                  /* number of ids of the last attr */
	bool counts_lost;                   /* every attr has PERF_FORMAT_LOST */
	uint32_t own_attrs;                 /* number of attrs that our captures may request */
	uint32_t on_exec;                   /* number of attrs with enable_on_exec */
	uint32_t e_machine; /* from the arch feature or attr's register mask; 0: unknown */
};
