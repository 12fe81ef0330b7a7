// SPDX-License-Identifier: GPL-2.0-only
/* Rules about code that shares addresses with other code, at the same time or at another. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/map.h"
#include "harness/base/sort.h"
#include "harness/lint/code.h"

JP_ORDER(compare_by_time, struct jp_lint_code,
	 jp_compare(a->time, b->time)
		 ?: jp_compare(a->start, b->start)
		 ?: jp_compare(a->place, b->place));

static void check_overlap(const struct jp_lint_dump *dump, struct jp_lint_findings *findings)
{
	size_t count;
	struct jp_lint_code *codes = jp_lint_code_of_dump(dump, &count, findings), *widest = codes;

	if (!codes)
		return;
	jp_sort(codes, count, compare_by_time);
	for (struct jp_lint_code *code = codes + 1; code < codes + count; code++) {
		if (code->time == widest->time && code->start < widest->end)
			jp_lint_found(findings, code->place,
				      "'%.80s' at 0x%" PRIx64 " overlaps '%.80s' of the same time "
				      "at offset %" PRIu64 ": nothing shows which of the two is at "
				      "these addresses",
				      code->name, code->start, widest->name, widest->place);
		if (code->time != widest->time || code->end > widest->end)
			widest = code;
	}
	free(codes);
}

static void check_reuse(const struct jp_lint_dump *dump, struct jp_lint_findings *findings)
{
	size_t count;
	struct jp_lint_code *codes = jp_lint_code_of_dump(dump, &count, findings), *widest = codes;

	if (!codes)
		return;
	jp_lint_code_sort(codes, count);
	for (struct jp_lint_code *code = codes + 1; code < codes + count; code++) {
		if (code->time != widest->time && code->start < widest->end)
			jp_lint_found(
				findings, code->place,
				"'%.80s' at 0x%" PRIx64 " and '%.80s' at offset %" PRIu64
				" share addresses at different times, which needs exact times",
				code->name, code->start, widest->name, widest->place);
		if (code->end > widest->end)
			widest = code;
	}
	free(codes);
}

static void check_index(const struct jp_lint_dump *dump, struct jp_lint_findings *findings)
{
	struct jp_map by_index = {0};

	for (size_t i = 0; i < dump->count; i++) {
		const struct jp_jitdump_record *record = &dump->records[i];
		uint64_t *first;

		if (record->type != JP_JITDUMP_LOAD)
			continue;
		/* perf uses the lower 32 bits of the index in the name of the ELF file. */
		first = jp_map_at(&by_index, (uint32_t)record->load.index, sizeof(*first));
		if (!first) {
			findings->failed = -ENOMEM;
			break;
		}
		if (*first)
			jp_lint_found(findings, record->offset,
				      "code_index %" PRIu64
				      " occurs twice, first at offset %" PRIu64
				      ": perf writes one ELF file for both",
				      record->load.index, *first);
		else
			*first = record->offset;
	}
	jp_map_free(&by_index);
}

/* Calls @report for each line that shares an address with another line whose start is equal or
 * lower.
 */
static void visit_overlaps(const struct jp_lint_map *map, struct jp_lint_findings *findings,
			   void (*report)(struct jp_lint_findings *findings,
					  const struct jp_lint_code *code,
					  const struct jp_lint_code *other))
{
	size_t count;
	struct jp_lint_code *codes = jp_lint_code_of_map(map, &count, findings), *widest = codes;

	if (!codes)
		return;
	jp_lint_code_sort(codes, count);
	for (struct jp_lint_code *code = codes + 1; code < codes + count; code++) {
		if (code->start == code[-1].start)
			report(findings, code, code - 1);
		else if (code->start < widest->end)
			report(findings, code, widest);
		if (code->end > widest->end)
			widest = code;
	}
	free(codes);
}

static void report_overlap(struct jp_lint_findings *findings, const struct jp_lint_code *code,
			   const struct jp_lint_code *other_code)
{
	if (code->start != other_code->start)
		jp_lint_found(findings, code->place,
			      "'%.80s' at 0x%" PRIx64 " overlaps '%.80s' of line %" PRIu64 ": all "
			      "other lines decide which of the two perf finds",
			      code->name, code->start, other_code->name, other_code->place);
}

static void check_map_overlap(const struct jp_lint_map *map, struct jp_lint_findings *findings)
{
	visit_overlaps(map, findings, report_overlap);
}

static void report_reuse(struct jp_lint_findings *findings, const struct jp_lint_code *code,
			 const struct jp_lint_code *other_code)
{
	if (code->start == other_code->start && strcmp(code->name, other_code->name) != 0)
		jp_lint_found(findings, code->place,
			      "'%.80s' starts at 0x%" PRIx64 " as '%.80s' of line %" PRIu64 ": a "
			      "perf map has no times, so readers show one name for both",
			      code->name, code->start, other_code->name, other_code->place);
}

static void check_map_reuse(const struct jp_lint_map *map, struct jp_lint_findings *findings)
{
	visit_overlaps(map, findings, report_reuse);
}

static void report_repeat(struct jp_lint_findings *findings, const struct jp_lint_code *code,
			  const struct jp_lint_code *other_code)
{
	if (code->start == other_code->start && strcmp(code->name, other_code->name) == 0)
		jp_lint_found(findings, code->place,
			      "'%.80s' at 0x%" PRIx64 " occurs twice, first in line %" PRIu64,
			      code->name, code->start, other_code->place);
}

static void check_map_repeat(const struct jp_lint_map *map, struct jp_lint_findings *findings)
{
	visit_overlaps(map, findings, report_repeat);
}

static const struct jp_lint_rule rules[] = {
	{"dump.overlap", JP_LINT_ERROR, "two LOADs of one time overlap", .dump = check_overlap},
	{"dump.reuse", JP_LINT_NOTE, "two functions share addresses at different times",
	 .dump = check_reuse},
	{"dump.index", JP_LINT_ERROR, "two LOADs have one code_index", .dump = check_index},
	{"map.overlap", JP_LINT_WARNING, "two lines overlap", .map = check_map_overlap},
	{"map.reuse", JP_LINT_WARNING, "an address has two names", .map = check_map_reuse},
	{"map.repeat", JP_LINT_NOTE, "a line repeats another line", .map = check_map_repeat},
};
JP_REGISTER_ROWS(lint_rule, rules);
