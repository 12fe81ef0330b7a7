// SPDX-License-Identifier: GPL-2.0-only
#include "harness/explain/repaired_ends.h"

#include <errno.h>
#include <stdlib.h>

#include "harness/base/array.h"
#include "harness/base/search.h"
#include "harness/base/sort.h"

JP_ORDER(compare_ends, struct jp_repaired_end, jp_compare(a->addr, b->addr));

bool jp_repaired_end_lacks_cfi(const struct jp_end *end, uint32_t pid)
{
	return end->image->pid == pid && end->code == JP_CODE_EMITTED && !end->remapped &&
	       (end->kind == JP_END_NO_CFI || end->kind == JP_END_NO_FILE);
}

int jp_repaired_ends_find(struct jp_repaired_ends *ends, const struct jp_ends *all, uint32_t pid)
{
	for (size_t i = 0; i < all->count; i++) {
		const struct jp_end *end = &all->list[i];

		if (!jp_repaired_end_lacks_cfi(end, pid))
			continue;
		if (jp_array_append(
			    &ends->list, &ends->count, &ends->capacity,
			    (struct jp_repaired_end){.addr = end->addr, .samples = end->samples}))
			return -ENOMEM;
	}
	jp_sort(ends->list, ends->count, compare_ends);
	return 0;
}

void jp_repaired_ends_note(struct jp_repaired_ends *ends, const struct jp_jitdump_record *record)
{
	size_t i;

	/* Unwinding information precedes the LOAD of its code. V8 writes only an empty index for
	 * code without any; there libunwind and libdw follow the frame pointer, which they do not
	 * without an ELF file. */
	if (record->type == JP_JITDUMP_UNWINDING_INFO)
		ends->informed = record->unwinding.size;
	if (record->type != JP_JITDUMP_LOAD)
		return;
	jp_search(i, ends->count, ends->list[i].addr < record->load.addr);
	for (; ends->informed && i < ends->count &&
	       ends->list[i].addr - record->load.addr < record->load.size;
	     i++)
		ends->list[i].repaired = true;
	ends->informed = false;
}

uint64_t jp_repaired_ends_count(const struct jp_repaired_ends *ends)
{
	uint64_t samples = 0;

	for (size_t i = 0; i < ends->count; i++)
		samples += ends->list[i].repaired ? ends->list[i].samples : 0;
	return samples;
}

void jp_repaired_ends_free(struct jp_repaired_ends *ends)
{
	free(ends->list);
	*ends = (struct jp_repaired_ends){0};
}
