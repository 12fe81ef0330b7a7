// SPDX-License-Identifier: GPL-2.0-only
#include "validators/coverage.h"

#include <string.h>

/* A snapshot taken after the file was removed or replaced says so behind its name. */
static bool same_name(const struct jp_mapping *truth, const struct jp_mapping *known)
{
	size_t length = strlen(truth->name);

	if (strncmp(truth->name, known->name, length) != 0)
		return false;
	return !known->name[length] || (truth->backing == JP_BACKING_FILE &&
					strcmp(known->name + length, " (deleted)") == 0);
}

bool jp_coverage_identical(const struct jp_mapping *truth, const struct jp_mapping *known,
			   uint64_t addr)
{
	/* Before v6.6 the kernel called a part of the heap //anon, and only the whole [heap]. */
	if (truth->backing == JP_BACKING_HEAP && known->backing == JP_BACKING_ANON)
		return true;
	if (truth->backing != known->backing)
		return false;
	if (truth->backing != JP_BACKING_MEMFD && truth->backing != JP_BACKING_FILE)
		return true;
	return same_name(truth, known) &&
	       addr - truth->start + truth->pgoff == addr - known->start + known->pgoff;
}

const struct jp_span *jp_coverage_ended(const struct jp_coverage *coverage, uint32_t pid,
					uint64_t addr, uint64_t time)
{
	const struct jp_span *end, *span = jp_spans_of(coverage->view->truth, pid, &end);
	const struct jp_span *last = NULL;

	for (; span < end; span++)
		if (span->mapping.start <= addr && span->mapping.end > addr &&
		    span->close_after <= time && (!last || span->close_after > last->close_after))
			last = span;
	return last;
}
