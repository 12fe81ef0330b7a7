/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Whether the list of the events among the features is that of the attrs. */
enum jp_described {
	JP_DESCRIBED_NOT,
	JP_DESCRIBED_ALIKE,
	JP_DESCRIBED_OTHER_NAME, /* than ours gives such an event */
	JP_DESCRIBED_OTHER,
};

/* What a perf.data file is and holds. */
struct jp_perfdata_summary {
	uint64_t bytes, records, samples, unknown_records;
	uint64_t own_records; /* perf's own, which the kernel writes none of */
	uint32_t attrs;
	uint64_t unknown_ids;  /* records of an id that no attr has, read as the first one's */
	uint32_t overwritten;  /* features that the attrs lie over */
	uint64_t behind;       /* records older than what their round may hold */
	uint64_t lost_records; /* PERF_RECORD_LOST records */
	uint64_t lost_events;  /* sum of their counts */
	uint64_t lost_samples; /* sum of PERF_RECORD_LOST_SAMPLES */
	bool cut_short;        /* the file ends before its data does, or says nothing of its size */
	bool monotonic;        /* every attr uses CLOCK_MONOTONIC */
	bool pipe, compressed;
	bool swapped;     /* of the other byte order */
	char arch[32];    /* of the machine that was recorded, as uname() has it; "": unknown */
	char release[64]; /* of its kernel, in the same way */
	uint32_t cpus;    /* it has so many, on or off; 0: unknown */
	uint32_t cpus_on; /* and so many of them on */
	char version[64]; /* of the tool that wrote the file, as it says; "": unknown */
	/* What features tell of the events, which the file itself shows as well. */
	bool has_sample_times, has_clock_resolution;
	uint64_t sample_times[2];           /* of the first sample and of the last ... */
	uint64_t first_sample, last_sample; /* ... by the samples; 0: there is none */
	uint64_t clock_resolution;          /* ns */
	enum jp_described described;        /* of ours the names count, too */
	uint64_t last_ids;                  /* how many ids the last attr has */
	bool counts_lost;                   /* every attr asks how many records were lost */
	uint32_t own_attrs;                 /* so many attrs a capture of ours may ask for */
	uint32_t on_exec;                   /* and so many wait for an exec */
	uint32_t e_machine; /* from the arch feature or attr's register mask; 0: unknown */
};
