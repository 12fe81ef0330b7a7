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
	struct jp_jit_cfi *cfi; /* unwind tables of @loads */
	/* Process.nr_perf_maps maps, then /tmp/perf-PID.map; NULL: not readable. */
	struct jp_perf_map **maps;
	int64_t since; /* files last written before this time (CLOCK_REALTIME, s) belong to another
			  process with the same pid */
	bool has_map, has_dump;
	bool has_marker; /* the process has a mapping by which perf finds the jitdump */
};

/* The name that a perf map or a jitdump gives to an address. */
struct jp_published_name {
	const char *name;                /* the name that perf chooses; NULL: none */
	const char *newest;              /* the name that the process wrote last for the address */
	size_t entry;                    /* number of the newest entry, from 1; 0: none */
	const struct jp_code_load *load; /* the entry in a jitdump; NULL for perf maps */
};

/* Reads the mappings, perf maps and jitdumps of process @pid, which was started at @launched
 * (CLOCK_MONOTONIC, ns; 0: unknown). Ignores files that were last written before that, since
 * another process had the pid then, and files that are unreadable or belong to another user.
 * Returns 0, or -errno and a message. The caller frees @published in both cases. */
int jp_published_read(uint32_t pid, uint64_t launched, struct jp_published_files *published,
		      struct jp_error *err);
/* Reads the files at the paths in published->process again, for instance after the process has
 * ended. Returns 0, or -errno and a message. */
int jp_published_read_again(struct jp_published_files *published, struct jp_error *err);
/* Stores in @name the name of @addr, from the perf maps or from the jitdumps. */
void jp_published_in_map(const struct jp_published_files *published, uint64_t addr,
			 struct jp_published_name *name);
void jp_published_in_dump(const struct jp_published_files *published, uint64_t addr,
			  struct jp_published_name *name);
/* Returns the pid in @name if perf recognizes by it, and by protection @prot, that a mapping
 * announces a jitdump (jit_detect(), tools/perf/util/jitdump.c); else 0. */
uint64_t jp_published_read_marker(uint32_t prot, const char *name);
/* Returns whether @addr lies in executable memory that maps no file. */
bool jp_published_is_emitted(const struct jp_published_files *published, uint64_t addr);
void jp_published_free(struct jp_published_files *published);
