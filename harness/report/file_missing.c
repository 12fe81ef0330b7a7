// SPDX-License-Identifier: GPL-2.0-only
#include "harness/report/file_missing.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/sort.h"
#include "harness/base/shortage.h"

JP_ORDER(compare_by_stops, const struct jp_elf_entry *,
	 jp_compare((*b)->stops, (*a)->stops) ?: strcmp((*a)->path, (*b)->path));

const struct jp_elf_entry **jp_file_list_missing(const struct jp_file_report *report, size_t *count)
{
	const struct jp_elf_entry *entry = NULL, **entries;
	size_t max = 0;

	while ((entry = jp_unwinder_list_missing(report->unwinder, entry)))
		max++;
	*count = 0;
	entries = calloc(max + 1, sizeof(*entries));
	if (!entries) {
		jp_shortage_note(ENOMEM);
		return NULL;
	}
	while ((entry = jp_unwinder_list_missing(report->unwinder, entry)))
		entries[(*count)++] = entry;
	jp_sort(entries, *count, compare_by_stops);
	return entries;
}
