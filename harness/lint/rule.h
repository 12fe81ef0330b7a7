/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "harness/base/registry.h"
#include "harness/base/text_pool.h"
#include "harness/format/jit/jitdump_read.h"
#include "harness/format/procmaps/procmaps.h"

struct jp_lint_findings;

enum jp_lint_level { JP_LINT_NOTE, JP_LINT_WARNING, JP_LINT_ERROR, JP_LINT_LEVELS };

/* Rules of `jitproof lint`: each checks a jitdump, a perf map, or a running process. */

/* A jitdump or a perf map. */
struct jp_lint_file {
	const char *path;
	struct stat status;
	int64_t named_pid; /* the number in "jit-PID.dump" or "perf-PID.map"; -1: another name */
	const struct jp_lint_process *process; /* its process; NULL: unknown */
	uint64_t now;                          /* CLOCK_MONOTONIC in ns */
	uint64_t change_time; /* time of the last change, CLOCK_MONOTONIC in ns; 0: before this boot
			       */
};

/* A range of invalid bytes in a jitdump. */
struct jp_lint_bad {
	struct jp_jitdump_gap gap;
	const char *reason; /* NULL: not stored, because there were too many */
};

struct jp_lint_dump {
	struct jp_lint_file file;
	const struct jp_jitdump_header *header;
	struct jp_jitdump_record *records;
	size_t count, capacity;
	struct jp_lint_bad
		*bad_ranges; /* in file order, except that a record may contain other ranges */
	size_t nr_bad, bad_capacity;
	const unsigned char *bytes; /* bytes of the whole file */
	uint64_t size;
	uint64_t unknown; /* number of records of unknown types */
	struct jp_jitdump *dump;
};

enum jp_lint_dialect {
	JP_LINT_PREFIX = 1, /* 0x before a number */
	JP_LINT_BLANKS = 2, /* separators other than one blank */
	JP_LINT_RETURN = 4, /* "\r" at the end */
	JP_LINT_UPPER = 8,  /* capital digits */
};

struct jp_lint_line {
	uint64_t number; /* line number, starting with 1 */
	uint64_t start, size;
	const char *name;
	unsigned int dialect;
};

/* Consecutive malformed lines with the same reason: one entry suffices even for a huge file of
 * blanks. */
struct jp_lint_bad_lines {
	uint32_t first, count;
	const char *reason;
};

struct jp_lint_map {
	struct jp_lint_file file;
	char *text;
	struct jp_lint_line *lines;
	size_t count, capacity;
	struct jp_lint_bad_lines *bad_lines;
	size_t nr_bad, bad_capacity, nr_bad_lines; /* nr_bad_lines: malformed lines in total */
	bool unfinished;                           /* the last line has no newline */
};

/* A published address range, from any file of a process. */
struct jp_lint_range {
	uint64_t start, end;
};

struct jp_lint_process {
	uint32_t pid, own_pid;     /* the pid in our namespace, and in the process's namespace */
	uint64_t started;          /* CLOCK_MONOTONIC in ns, rounded down; 0: unknown */
	int64_t user;              /* user id that its files must have; -1: unknown */
	struct jp_text_pool paths; /* paths of the files below */
	struct jp_procmap *maps;
	size_t nr_maps;
	char **dumps, **perf_maps; /* mapped or open in the process, or named by its pid */
	size_t nr_dumps, dumps_capacity, nr_perf_maps, perf_maps_capacity;
	struct jp_lint_range *published_ranges;
	size_t nr_published, published_capacity;
};

/* A rule finds one kind of defect; docs/lint.md has a section for each rule. A rule has one or more
 * of the functions below. Their results depend only on their arguments. */
struct jp_lint_rule {
	const char *name;
	enum jp_lint_level level;
	const char *help;
	void (*dump)(const struct jp_lint_dump *dump, struct jp_lint_findings *findings);
	void (*map)(const struct jp_lint_map *map, struct jp_lint_findings *findings);
	/* Check the file, or each name in the file; @at is the offset or line of the name. */
	void (*file)(const struct jp_lint_file *file, struct jp_lint_findings *findings);
	void (*each_name)(struct jp_lint_findings *findings, uint64_t at, const char *name);
	void (*process)(const struct jp_lint_process *process, struct jp_lint_findings *findings);
};
