/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "harness/base/error.h"
#include "harness/base/text_pool.h"
#include "harness/format/perfdata/decode.h"
#include "harness/inject/inject_summary.h"

/*
 * The jitdumps that a capture speaks of, and what becomes of code by them: which code lies at which
 * address of which process from which time on, and where in an ELF file of ours it stands.
 */

/* The mapping of a jitdump by its writer, and with it what a mapping record of that process looks
 * like. */
struct jp_marker {
	uint32_t pid, named; /* as the capture sees it; as the file's name has it */
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

/* Code appears at an address; @from: and is gone from there (0: a LOAD). */
struct jp_loaded_code {
	uint64_t time, addr, size, from, pgoff;
	uint32_t tables; /* bytes behind @size that are the code's unwinding tables */
	uint32_t pid, file, marker;
	size_t nth; /* of all codes, as they were read */
};

struct jp_inject_dumps {
	struct jp_marker *markers;
	size_t nr_markers, markers_capacity;
	struct jp_text_pool known; /* what tells a marker from those before it */
	struct jp_code_file *files;
	size_t nr_files, files_capacity;
	struct jp_loaded_code *codes; /* in the order of time once all are read */
	size_t nr_codes, capacity;
};

/* From the CPU's counter to the capture's time: what a TIME_CONV record says. */
struct jp_time_conv {
	bool known;
	uint64_t shift, mult, zero;
};
struct jp_inject_read {
	const char *jitdumps; /* as of struct jp_inject_options */
	int root;             /* open; -1: our own */
	struct jp_inject_summary *summary;
	int64_t owner;  /* of the capture */
	bool monotonic; /* its clock */
	struct jp_time_conv conv;
	void (*said)(void *context, const char *line);
	void *context;
};
/* A line for whoever started this. */
void jp_inject_say(const struct jp_inject_read *read, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
void jp_inject_dumps_free(struct jp_inject_dumps *dumps);
