/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/lint/rule.h"

/* Value of @place for a finding that concerns the whole file. */
#define JP_LINT_WHOLE UINT64_MAX

struct jp_lint_finding {
	const struct jp_lint_rule *rule;
	uint64_t place; /* offset in a jitdump, line of a perf map, address in a process */
	char *text;
};

/* All findings of one rule. */
struct jp_lint_tally {
	const struct jp_lint_rule *rule;
	uint64_t count;
	size_t first,
		nr_stored; /* index of the rule's first stored finding; number of stored ones */
};

/* The findings in one file or process. The caller sets the first two fields and zeroes the rest. */
struct jp_lint_findings {
	size_t max_stored; /* largest number of findings of a rule to store; others are only counted
			    */
	const char *const *allowed; /* rules to skip, up to a NULL; may be NULL */

	struct jp_lint_finding *list;
	size_t count, capacity;
	struct jp_lint_tally *tallies;
	size_t nr_tallies, tallies_capacity;
	uint64_t levels[JP_LINT_LEVELS];
	const char *kind; /* "jitdump", "perf map", "process" */
	uint64_t entries; /* number of records, lines or mappings */
	int failed;       /* -ENOMEM: some findings are missing */
};

/* Begins the findings of @rule. Returns false if the rule must not run, because it is allowed or
 * memory ran out. */
bool jp_lint_begin_rule(struct jp_lint_findings *findings, const struct jp_lint_rule *rule);
/* Adds a finding of the current rule. */
void jp_lint_found(struct jp_lint_findings *findings, uint64_t position, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* Frees the findings and zeroes all fields but @max_stored and @allowed. */
void jp_lint_findings_free(struct jp_lint_findings *findings);

const char *jp_lint_level_name(enum jp_lint_level level);
