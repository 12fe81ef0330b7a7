/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "harness/format/jit/code_loads.h"
#include "harness/format/jit/perf_map.h"
#include "harness/lint/process.h"
#include "harness/model/unwind/jit_cfi.h"

/* The mappings of a stopped process, and the names that its files hold at that moment. */
struct jp_published_files {
	struct jp_lint_process process;
	struct jp_code_loads loads;
	struct jp_jit_cfi *cfi;    /* of @loads */
	struct jp_perf_map **maps; /* process.nr_perf_maps, and the usual one; NULL: not readable */
	int64_t since; /* files that were last written before this are another process's (s) */
	bool has_map, has_dump;
	bool has_marker; /* an executable mapping by which perf finds the jitdump */
};

/* A name for an address, by one source. */
struct jp_published_name {
	const char *name;                /* perf's choice; NULL: none */
	const char *newest;              /* the name that the process wrote last; else as @name */
	size_t entry;                    /* number of the newest entry, from 1; 0: none */
	const struct jp_code_load *load; /* of a jitdump */
};

/* Reads mappings and files of @pid, which was started at @launched (CLOCK_MONOTONIC, ns; 0:
 * unknown): older files with its name are those of another process that had the pid. A file that is
 * not the process's user's, or not readable, names nothing. Returns 0, or -errno and a message.
 * Free it in both cases. */
int jp_published_read(uint32_t pid, uint64_t launched, struct jp_published_files *published,
		      struct jp_error *err);
/* Reads the same files again, whose paths published->process holds, such as after the process's
 * end. Returns 0, or -errno and a message. */
int jp_published_read_again(struct jp_published_files *published, struct jp_error *err);
/* Finds the name of @addr in the perf maps, or in the jitdumps. */
void jp_published_in_map(const struct jp_published_files *published, uint64_t addr,
			 struct jp_published_name *name);
void jp_published_in_dump(const struct jp_published_files *published, uint64_t addr,
			  struct jp_published_name *name);
/* Returns whether @addr lies in executable memory that is no file's. */
bool jp_published_is_emitted(const struct jp_published_files *published, uint64_t addr);
void jp_published_free(struct jp_published_files *published);
