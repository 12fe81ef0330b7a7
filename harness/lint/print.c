// SPDX-License-Identifier: GPL-2.0-only
#include "harness/lint/print.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "harness/base/printable.h"

/* Returns the word for the place of a finding: "offset", "line" or similar. */
static const char *get_place_name(const struct jp_lint_findings *findings)
{
	if (strcmp(findings->kind, "jitdump") == 0)
		return "offset";
	return strcmp(findings->kind, "process") == 0 ? "address" : "line";
}

/* Escapes control characters: names come from the JIT, and a terminal must not obey them. */
static void put_text(const char *text)
{
	for (; text && *(text = jp_printable_put_prefix(stdout, text)); text++)
		printf("\\x%02x", (unsigned char)*text);
}

static void put_head(const char *name, const struct jp_lint_findings *findings, uint64_t position,
		     enum jp_lint_level level)
{
	put_text(name);
	if (position == JP_LINT_WHOLE)
		printf(": ");
	else
		printf(strcmp(findings->kind, "process") == 0 ? ": %s 0x%" PRIx64 ": "
							      : ": %s %" PRIu64 ": ",
		       get_place_name(findings), position);
	printf("%s: ", jp_lint_level_name(level));
}

void jp_lint_print(const char *name, const struct jp_lint_findings *findings)
{
	for (size_t i = 0; i < findings->nr_tallies; i++) {
		const struct jp_lint_tally *tally = &findings->tallies[i];

		for (size_t j = tally->first; j < tally->first + tally->nr_stored; j++) {
			put_head(name, findings, findings->list[j].place, tally->rule->level);
			put_text(findings->list[j].text);
			printf(" [%s]\n", tally->rule->name);
		}
		if (tally->count > tally->nr_stored) {
			put_head(name, findings, JP_LINT_WHOLE, tally->rule->level);
			printf("%" PRIu64 " more of these [%s]\n", tally->count - tally->nr_stored,
			       tally->rule->name);
		}
	}
	put_text(name);
	printf(": %s, %" PRIu64 " %s; errors: %" PRIu64 ", warnings: %" PRIu64 ", notes: %" PRIu64
	       "\n",
	       findings->kind, findings->entries,
	       !strcmp(findings->kind, "jitdump")   ? "records"
	       : !strcmp(findings->kind, "process") ? "mappings"
						    : "lines",
	       findings->levels[JP_LINT_ERROR], findings->levels[JP_LINT_WARNING],
	       findings->levels[JP_LINT_NOTE]);
}

static void put_finding(struct jp_json *json, const struct jp_lint_findings *findings,
			const struct jp_lint_finding *finding)
{
	jp_json_object(json, NULL);
	jp_json_string(json, "rule", finding->rule->name);
	jp_json_string(json, "level", jp_lint_level_name(finding->rule->level));
	if (finding->place != JP_LINT_WHOLE)
		jp_json_u64(json, get_place_name(findings), finding->place);
	jp_json_string(json, "text", finding->text);
	jp_json_end(json);
}

void jp_lint_json(struct jp_json *json, const char *name, const struct jp_lint_findings *findings)
{
	jp_json_object(json, NULL);
	jp_json_string(json, "name", name);
	jp_json_string(json, "kind", findings->kind);
	jp_json_u64(json, "entries", findings->entries);
	jp_json_u64(json, "errors", findings->levels[JP_LINT_ERROR]);
	jp_json_u64(json, "warnings", findings->levels[JP_LINT_WARNING]);
	jp_json_u64(json, "notes", findings->levels[JP_LINT_NOTE]);
	jp_json_object(json, "rules");
	for (size_t i = 0; i < findings->nr_tallies; i++)
		if (findings->tallies[i].count)
			jp_json_u64(json, findings->tallies[i].rule->name,
				    findings->tallies[i].count);
	jp_json_end(json);
	jp_json_array(json, "findings");
	for (size_t i = 0; i < findings->count; i++)
		put_finding(json, findings, &findings->list[i]);
	jp_json_end(json);
	jp_json_end(json);
}

void jp_lint_print_rules(void)
{
	const struct jp_lint_rule *rule = NULL;

	while ((rule = jp_registry_next(JP_LINT_RULE, rule)))
		printf("%-20s %-7s  %s\n", rule->name, jp_lint_level_name(rule->level), rule->help);
}
