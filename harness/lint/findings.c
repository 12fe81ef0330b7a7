// SPDX-License-Identifier: GPL-2.0-only
#include "harness/lint/findings.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/array.h"

bool jp_lint_begin_rule(struct jp_lint_findings *findings, const struct jp_lint_rule *rule)
{
	struct jp_lint_tally *tally;

	for (const char *const *name = findings->allowed; name && *name; name++)
		if (strcmp(*name, rule->name) == 0)
			return false;
	tally = jp_array_push(&findings->tallies, &findings->nr_tallies,
			      &findings->tallies_capacity);
	if (!tally) {
		findings->failed = -ENOMEM;
		return false;
	}
	tally->rule = rule;
	tally->first = findings->count;
	return true;
}

void jp_lint_found(struct jp_lint_findings *findings, uint64_t position, const char *fmt, ...)
{
	struct jp_lint_tally *tally = &findings->tallies[findings->nr_tallies - 1];
	struct jp_lint_finding *finding;
	va_list ap;
	int length;

	findings->levels[tally->rule->level]++;
	tally->count++;
	if (tally->nr_stored == findings->max_stored)
		return;
	finding = jp_array_push(&findings->list, &findings->count, &findings->capacity);
	if (!finding) {
		findings->failed = -ENOMEM;
		return;
	}
	tally->nr_stored++;
	finding->rule = tally->rule;
	finding->place = position;
	va_start(ap, fmt);
	length = vasprintf(&finding->text, fmt, ap);
	va_end(ap);
	if (length < 0) {
		finding->text = NULL;
		findings->failed = -ENOMEM;
	}
}

void jp_lint_findings_free(struct jp_lint_findings *findings)
{
	for (size_t i = 0; i < findings->count; i++)
		free(findings->list[i].text);
	free(findings->list);
	free(findings->tallies);
	*findings = (struct jp_lint_findings){.max_stored = findings->max_stored,
					      .allowed = findings->allowed};
}

const char *jp_lint_level_name(enum jp_lint_level level)
{
	static const char *const names[JP_LINT_LEVELS] = {
		[JP_LINT_NOTE] = "note",
		[JP_LINT_WARNING] = "warning",
		[JP_LINT_ERROR] = "error",
	};

	return names[level];
}
