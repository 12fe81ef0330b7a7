// SPDX-License-Identifier: GPL-2.0-only
#include "harness/lint/code.h"

#include <errno.h>
#include <stdlib.h>

#include "harness/base/search.h"
#include "harness/base/sort.h"

static struct jp_lint_code *alloc_codes(size_t count, struct jp_lint_findings *findings)
{
	struct jp_lint_code *codes = calloc(count + 1, sizeof(*codes));

	if (!codes)
		findings->failed = -ENOMEM;
	return codes;
}

static size_t add_code(struct jp_lint_code *codes, size_t count, struct jp_lint_code code)
{
	if (code.end > code.start)
		codes[count++] = code;
	return count;
}

struct jp_lint_code *jp_lint_code_of_dump(const struct jp_lint_dump *dump, size_t *count,
					  struct jp_lint_findings *findings)
{
	struct jp_lint_code *codes = alloc_codes(dump->count, findings);

	*count = 0;
	for (size_t i = 0; codes && i < dump->count; i++) {
		const struct jp_jitdump_record *record = &dump->records[i];
		struct jp_lint_code code = {.time = record->time, .place = record->offset};

		if (record->type == JP_JITDUMP_LOAD) {
			code.start = record->load.addr;
			code.end = code.start + record->load.size;
			code.name = record->load.name;
		} else if (record->type == JP_JITDUMP_MOVE) {
			code.start = record->move.new_addr;
			code.end = code.start + record->move.size;
			code.name = "moved code";
		}
		*count = add_code(codes, *count, code);
	}
	return codes;
}

struct jp_lint_code *jp_lint_code_of_map(const struct jp_lint_map *map, size_t *count,
					 struct jp_lint_findings *findings)
{
	struct jp_lint_code *codes = alloc_codes(map->count, findings);

	*count = 0;
	for (size_t i = 0; codes && i < map->count; i++) {
		const struct jp_lint_line *line = &map->lines[i];

		*count = add_code(codes, *count,
				  (struct jp_lint_code){.start = line->start,
							.end = line->start + line->size,
							.place = line->number,
							.name = line->name});
	}
	return codes;
}

JP_ORDER(compare_by_place, struct jp_lint_code,
	 jp_compare(a->start, b->start) ?: jp_compare(a->place, b->place));

void jp_lint_code_sort(struct jp_lint_code *codes, size_t count)
{
	jp_sort(codes, count, compare_by_place);
}

const struct jp_procmap *jp_lint_find_mapping(const struct jp_lint_process *process, uint64_t addr)
{
	size_t i;

	jp_search(i, process->nr_maps, process->maps[i].start <= addr);
	return i && addr < process->maps[i - 1].end ? &process->maps[i - 1] : NULL;
}
