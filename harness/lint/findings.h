/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/lint/rule.h"

/* A finding that is of no single place. */
#define JP_LINT_WHOLE UINT64_MAX

struct jp_lint_finding {
	const struct jp_lint_rule *rule;
	uint64_t at; /* offset in a jitdump, line of a perf map, address in a process */
	char *text;
};

/* What one rule found, all told. */
struct jp_lint_tally {
	const struct jp_lint_rule *rule;
	uint64_t count;
	size_t first, shown; /* in the list */
};

/* What was found in one file or process. All zero to start with, but what its user sets. */
struct jp_lint_findings {
	/* Its user's. */
	size_t most;                /* findings of a rule that are kept; the others are counted */
	const char *const *allowed; /* rules that are not asked, up to a NULL; may be NULL */

	struct jp_lint_finding *list;
	size_t count, capacity;
	struct jp_lint_tally *tallies;
	size_t nr_tallies, tallies_capacity;
	uint64_t levels[JP_LINT_LEVELS];
	const char *kind; /* "jitdump", "perf map", "process" */
	uint64_t entries; /* records, lines, mappings */
	int failed;       /* -ENOMEM: some are missing */
};

/* What follows is of @rule. False: it is allowed, do not ask it. */
bool jp_lint_ask(struct jp_lint_findings *findings, const struct jp_lint_rule *rule);
/* The rule that is asked found something. */
void jp_lint_found(struct jp_lint_findings *findings, uint64_t at, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* Leaves an empty one with the same user's fields. */
void jp_lint_findings_free(struct jp_lint_findings *findings);

const char *jp_lint_level_name(enum jp_lint_level level);
