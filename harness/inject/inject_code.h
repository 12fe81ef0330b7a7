/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "harness/base/error.h"
#include "harness/base/text_pool.h"
#include "harness/format/perfdata/decode.h"
#include "harness/inject/inject_summary.h"

/*
 * The jitdumps that a capture refers to, and the code in them: its process, address, time, and
 * place in one of our ELF files.
 */

/* The mapping record of a jitdump in its writer. Also a template for new records of that
 * process. */
struct jp_marker {
	uint32_t pid, named; /* the pid in the capture, and that in the file's name */
	char *path;
	bool has_identity;
	uint64_t ino;
	struct jp_perf_layout layout;
	uint32_t cpu;
	uint64_t id;
};

struct jp_code_file {
	char *path;
	uint32_t maj, min;
	uint64_t ino;
};

/* A LOAD (@from is 0), or a MOVE from address @from. */
struct jp_loaded_code {
	uint64_t time, addr, size, from, pgoff;
	uint32_t tables; /* bytes of unwinding tables after the code */
	uint32_t pid, file, marker;
	size_t nth; /* index among all codes in the order of reading */
};

struct jp_inject_dumps {
	struct jp_marker *markers;
	size_t nr_markers, markers_capacity;
	struct jp_text_pool known; /* keys of all markers so far */
	struct jp_code_file *files;
	size_t nr_files, files_capacity;
	struct jp_loaded_code *codes; /* in order of time after all dumps were read */
	size_t nr_codes, capacity;
};

/* The conversion of the CPU's counter to the capture's time in a TIME_CONV record. */
struct jp_time_conv {
	bool known;
	uint64_t shift, mult, zero;
};
struct jp_inject_read {
	const char *jitdumps; /* from struct jp_inject_options */
	int root;             /* descriptor of the copied root directory; -1: our own root */
	struct jp_inject_summary *summary;
	int64_t owner;  /* user id of the capture's owner */
	bool monotonic; /* the capture's clock is CLOCK_MONOTONIC */
	struct jp_time_conv conv;
	void (*report)(void *context, const char *line);
	void *context;
};
/* Formats a line for the user and passes it to read->report. */
void jp_inject_report(const struct jp_inject_read *read, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
void jp_inject_dumps_free(struct jp_inject_dumps *dumps);
