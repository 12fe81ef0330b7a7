/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "harness/base/text_pool.h"
#include "harness/format/perfdata/decode.h"
#include "harness/inject/inject_summary.h"

/*
 * The jitdumps that a capture refers to, and the code in them: for each piece of code its process,
 * address, time, and place in one of the ELF files that inject writes.
 */

/* A mapping record that shows a jitdump: the process that writes a jitdump maps the file so that
 * perf finds it. Also serves as a template for the records that inject adds to that process. */
struct jp_marker {
	/* @pid: pid in the capture; @named_pid: pid in the file name jit-PID.dump. */
	uint32_t pid, named_pid;
	char *path;
	bool has_identity;
	uint64_t ino;
	struct jp_perf_layout layout;
	uint64_t nth; /* number of the record in the capture */
	uint32_t cpu;
	uint64_t id;
};

struct jp_code_file {
	char *path;
	uint32_t maj, min;
	uint64_t ino;
};

/* Code that a LOAD (@moved_from is 0) or a MOVE (away from address @moved_from) of a jitdump
 * placed at @addr. */
struct jp_loaded_code {
	uint64_t time; /* ns; if mapping records have no times, @nth of the marker */
	uint64_t addr, size, moved_from, pgoff;
	uint32_t tables; /* bytes of unwinding tables after the code */
	uint32_t pid, file, marker;
	size_t nth; /* number of the code in the order in which jitdumps were read */
};

struct jp_inject_dumps {
	struct jp_marker *markers;
	size_t nr_markers, markers_capacity;
	bool timeless;   /* a marker has no time */
	uint64_t events; /* number of the capture's records so far */
	/* One key for each process and jitdump, to add no marker twice. */
	struct jp_text_pool paths;
	struct jp_code_file *files;
	size_t nr_files, files_capacity;
	struct jp_loaded_code *codes; /* sorted by time once all jitdumps were read */
	size_t nr_codes, capacity;
};

/* Conversion of CPU counter values to the capture's time, from a TIME_CONV record. */
struct jp_time_conv {
	bool is_known;
	uint64_t shift, mult, zero;
};
struct jp_inject_read {
	const char *jitdumps; /* from struct jp_inject_options */
	int root;             /* descriptor of the copied root directory; -1: this machine's root */
	struct jp_inject_summary *summary;
	int64_t owner;  /* user id of the capture's owner */
	bool monotonic; /* the capture's clock is CLOCK_MONOTONIC */
	struct jp_time_conv conv;
	void (*report)(void *context, const char *line);
	void *context;
};
/* Formats a line for the user and passes it to read->report. */
void jp_inject_report(const struct jp_inject_read *reading, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
void jp_inject_dumps_free(struct jp_inject_dumps *dumps);
