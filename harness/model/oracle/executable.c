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

int jp_executables_index(struct jp_executables *executables)
{
	if (!jp_array_reserve(&executables->reach, &executables->reach_capacity,
			      executables->count + 1))
		return -ENOMEM;
	jp_sort(executables->list, executables->count, compare_by_place);
	for (size_t i = 0; i < executables->count; i++) {
		const struct jp_executable *executable = &executables->list[i];

		executables->reach[i] = i && executable[-1].pid == executable->pid
						? jp_max(executables->reach[i - 1], executable->end)
						: executable->end;
	}
	return 0;
}

void jp_executables_free(struct jp_executables *executables)
{
	for (size_t i = 0; i < executables->nr_texts; i++)
		free(executables->texts[i]);
	free(executables->texts);
	free(executables->marks);
	free(executables->memories);
	free(executables->reach);
	free(executables->list);
	*executables = (struct jp_executables){0};
}

const struct jp_executable *jp_executables_next(const struct jp_executables *executables,
						uint32_t pid, uint64_t start, uint64_t end,
						size_t *cursor)
{
	const struct jp_executable *list = executables->list;

	/* The reach never decreases within a process: begin with the first range whose reach is
	 * beyond @start. */
	if (*cursor == SIZE_MAX)
		jp_search(*cursor, executables->count,
			  list[*cursor].pid != pid ? list[*cursor].pid < pid
						   : executables->reach[*cursor] <= start);
	for (;
	     *cursor < executables->count && list[*cursor].pid == pid && list[*cursor].start < end;
	     (*cursor)++)
		if (list[*cursor].end > start)
			return &list[(*cursor)++];
	return NULL;
}
