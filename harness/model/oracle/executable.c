// SPDX-License-Identifier: GPL-2.0-only
#include "harness/model/oracle/executable.h"

#include <errno.h>
#include <stdlib.h>

#include "harness/base/array.h"
#include "harness/base/order.h"
#include "harness/base/search.h"
#include "harness/base/sort.h"

JP_ORDER(compare_by_place, struct jp_executable,
	 jp_compare(a->pid, b->pid)
		 ?: jp_compare(a->start, b->start)
		 ?: jp_compare(a->open_before, b->open_before));

int jp_executables_index(struct jp_executables *all)
{
	if (!jp_array_reserve(&all->reach, &all->reach_capacity, all->count + 1))
		return -ENOMEM;
	jp_sort(all->list, all->count, compare_by_place);
	for (size_t i = 0; i < all->count; i++) {
		const struct jp_executable *one = &all->list[i];

		all->reach[i] = i && one[-1].pid == one->pid ? jp_max(all->reach[i - 1], one->end)
							     : one->end;
	}
	return 0;
}

void jp_executables_free(struct jp_executables *all)
{
	for (size_t i = 0; i < all->nr_texts; i++)
		free(all->texts[i]);
	free(all->texts);
	free(all->marks);
	free(all->memories);
	free(all->reach);
	free(all->list);
	*all = (struct jp_executables){0};
}

const struct jp_executable *jp_executables_next(const struct jp_executables *all, uint32_t pid,
						uint64_t start, uint64_t end, size_t *cursor)
{
	const struct jp_executable *list = all->list;

	/* The reach never decreases within a process: begin with the first range whose reach is
	 * beyond @start. */
	if (*cursor == SIZE_MAX)
		jp_search(*cursor, all->count,
			  list[*cursor].pid != pid ? list[*cursor].pid < pid
						   : all->reach[*cursor] <= start);
	for (; *cursor < all->count && list[*cursor].pid == pid && list[*cursor].start < end;
	     (*cursor)++)
		if (list[*cursor].end > start)
			return &list[(*cursor)++];
	return NULL;
}
