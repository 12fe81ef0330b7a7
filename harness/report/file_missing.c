// SPDX-License-Identifier: GPL-2.0-only
#include "harness/report/file_missing.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/search.h"
#include "harness/base/shortage.h"

static int compare_by_stops(const void *left, const void *right)
{
	const struct jp_elf_entry *const *a = left, *const *b = right;

	return jp_compare((*b)->stops, (*a)->stops) ?: strcmp((*a)->path, (*b)->path);
}

const struct jp_elf_entry **jp_file_missing(const struct jp_file_report *report, size_t *count)
{
	const struct jp_elf_entry *entry = NULL, **all;
	size_t most = 0;

	while ((entry = jp_unwinder_missing(report->unwinder, entry)))
		most++;
	*count = 0;
	all = calloc(most + 1, sizeof(*all));
	if (!all) {
		jp_shortage_note(ENOMEM);
		return NULL;
	}
	while ((entry = jp_unwinder_missing(report->unwinder, entry)))
		all[(*count)++] = entry;
	qsort(all, *count, sizeof(*all), compare_by_stops);
	return all;
}
