// SPDX-License-Identifier: GPL-2.0-only
#include "validators/coverage.h"

#include <errno.h>
#include <string.h>

#include "harness/base/array.h"
#include "harness/base/sort.h"

/* Returns whether the names are equal, apart from the mark that a snapshot adds to the name of a
 * file that was removed or replaced. */
static bool have_same_name(const struct jp_mapping *truth, const struct jp_mapping *mapping)
{
	size_t length = strlen(truth->name);

	if (strncmp(truth->name, mapping->name, length) != 0)
		return false;
	return !mapping->name[length] || (truth->backing == JP_BACKING_FILE &&
					  strcmp(mapping->name + length, " (deleted)") == 0);
}

bool jp_coverage_is_same_mapping(const struct jp_mapping *truth, const struct jp_mapping *mapping,
				 uint64_t addr)
{
	/* Before v6.6 the kernel named only the whole heap [heap], and a part of it //anon. */
	if (truth->backing == JP_BACKING_HEAP && mapping->backing == JP_BACKING_ANON)
		return true;
	if (truth->backing != mapping->backing)
		return false;
	if (truth->backing != JP_BACKING_MEMFD && truth->backing != JP_BACKING_FILE)
		return true;
	return have_same_name(truth, mapping) &&
	       addr - truth->start + truth->pgoff == addr - mapping->start + mapping->pgoff;
}

JP_ORDER(compare_by_place, const struct jp_span *, jp_compare(*a, *b));

int jp_coverage_find(struct jp_coverage *coverage, const struct jp_spans *spans, uint32_t pid,
		     const struct jp_box *box)
{
	const struct jp_span *span;

	coverage->nr_found = 0;
	for (size_t cursor = 0; (span = jp_spans_next(spans, pid, box, &cursor));) {
		if (jp_array_append(&coverage->spans, &coverage->nr_found,
				    &coverage->found_capacity, span))
			return -ENOMEM;
	}
	jp_sort(coverage->spans, coverage->nr_found, compare_by_place);
	return 0;
}

const struct jp_span *jp_coverage_find_ended(const struct jp_coverage *coverage, uint32_t pid,
					     uint64_t addr, uint64_t time)
{
	struct jp_box box = {addr, addr + 1, 0, time};
	const struct jp_span *span, *last = NULL;

	for (size_t cursor = 0;
	     (span = jp_spans_next(coverage->view->truth, pid, &box, &cursor));) {
		if (span->close_after > time ||
		    (last && (jp_compare(span->close_after, last->close_after)
				      ?: jp_compare(last, span)) < 0))
			continue;
		last = span;
		box.start_time = span->close_after;
	}
	return last;
}
