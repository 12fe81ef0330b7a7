/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/lint/findings.h"

/* One piece of code that a file names. */
struct jp_lint_code {
	uint64_t start, end;
	uint64_t time; /* of a perf map 0 */
	uint64_t at;   /* offset or line */
	const char *name;
};

/* What @dump loads and moves to, and what @map lists, as ranges that do not wrap; empty ones are
 * left out. In the order of the file; free() it. NULL: no memory, and @findings know. */
struct jp_lint_code *jp_lint_code_of_dump(const struct jp_lint_dump *dump, size_t *count,
					  struct jp_lint_findings *findings);
struct jp_lint_code *jp_lint_code_of_map(const struct jp_lint_map *map, size_t *count,
					 struct jp_lint_findings *findings);
/* By start, then by the place in the file. */
void jp_lint_code_sort(struct jp_lint_code *codes, size_t count);
/* The mapping of @process that holds @addr, or NULL. */
const struct jp_procmap *jp_lint_mapping(const struct jp_lint_process *process, uint64_t addr);
