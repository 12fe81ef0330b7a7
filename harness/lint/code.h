/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/lint/findings.h"

/* A named code range in a file. */
struct jp_lint_code {
	uint64_t start, end;
	uint64_t time;  /* time of the record in a jitdump; 0 for a perf map */
	uint64_t place; /* offset in a jitdump, line of a perf map */
	const char *name;
};

/* Returns the code that @dump loads and moves, or that @map lists, without empty and wrapping
 * ranges, in the order of the file; free() the list. If out of memory, returns NULL and sets
 * findings->failed. */
struct jp_lint_code *jp_lint_code_of_dump(const struct jp_lint_dump *dump, size_t *count,
					  struct jp_lint_findings *findings);
struct jp_lint_code *jp_lint_code_of_map(const struct jp_lint_map *map, size_t *count,
					 struct jp_lint_findings *findings);
/* Sorts @codes by start address, then by place in the file. */
void jp_lint_code_sort(struct jp_lint_code *codes, size_t count);
/* Returns the mapping of @process that contains @addr, or NULL. */
const struct jp_procmap *jp_lint_find_mapping(const struct jp_lint_process *process, uint64_t addr);
