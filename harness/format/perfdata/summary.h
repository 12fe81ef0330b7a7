/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Result of comparing the feature EVENT_DESC with the events of the attrs. */
enum jp_described {
	JP_DESCRIBED_NOT,
	JP_DESCRIBED_ALIKE,
	JP_DESCRIBED_OTHER_NAME, /* an event has another name than this project's captures give it
				  */
	JP_DESCRIBED_OTHER,
};

/* Properties and contents of a perf.data file. */
struct jp_perfdata_summary {
	uint64_t bytes, records, samples, unknown_records;
	uint64_t own_records; /* number of records of perf's own types */
	uint64_t rounds;      /* number of FINISHED_ROUND records */
	uint32_t attrs;
	uint64_t unknown_ids;  /* number of records whose id belongs to no attr; they are read with
				  the first attr */
	uint32_t overwritten;  /* number of features that the attrs overwrite in the file */
	uint64_t nr_behind;    /* number of records that are older than the rule of rounds allows */
	uint64_t lost_records; /* number of PERF_RECORD_LOST records */
	uint64_t lost_events;  /* sum of the counts in PERF_RECORD_LOST records */
	uint64_t lost_samples; /* sum of the counts in PERF_RECORD_LOST_SAMPLES records */
	bool cut_short; /* the file ends before its data, or its header contains no data size */
	bool unwritten; /* the header contains neither attrs nor data: its writer failed */
	bool monotonic; /* every attr uses CLOCK_MONOTONIC */
	bool pipe, compressed;
	uint64_t empty_chunk; /* file offset of the first compressed record that unpacks to nothing,
				 as its zstd block ends in a later record; 0: none */
	bool full_chunk; /* the last compressed record has the largest size: perf may hold the end
			    of the data in its encoder (zstd_compress_stream_to_records(),
			    tools/perf/util/zstd.c) */
	bool in_parts;   /* a directory (perf record --threads) */
	bool swapped;    /* the file is in the other byte order */
	char arch[32];   /* architecture of the recorded machine, as uname() reports it; "": unknown
			  */
	char release[64]; /* kernel release of that machine, as uname() reports it */
	uint32_t cpus;    /* number of CPUs of that machine, on- or offline; 0: unknown */
	uint32_t cpus_on; /* number of CPUs online */
	char version[64]; /* version that the writing tool states; "": unknown */
	/* Features that state facts about the events, to be compared with the records. */
	bool has_sample_times, has_clock_resolution;
	uint64_t sample_times[2]; /* times of the first and last sample according to the feature */
	uint64_t first_sample, last_sample; /* times of the first and last sample according to the
					       samples; 0: none */
	uint64_t clock_resolution;          /* resolution in ns that the feature states */
	enum jp_described described; /* comparison of the feature EVENT_DESC with the attrs */
	uint64_t last_ids;           /* number of ids of the last attr */
	bool counts_lost;            /* every attr has PERF_FORMAT_LOST */
	uint32_t own_attrs;          /* number of attrs that this project's captures may request */
	uint32_t on_exec;            /* number of attrs with enable_on_exec */
	uint32_t e_machine; /* machine (elf.h), from the arch feature or the attrs' register masks;
			       0: unknown */
};
