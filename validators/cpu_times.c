// SPDX-License-Identifier: GPL-2.0-only
#include "validators/cpu_times.h"

#include <stdlib.h>

#include "harness/base/array.h"
#include "harness/base/search.h"
#include "harness/base/sort.h"

int jp_cpu_times_add(struct jp_cpu_times *times, uint32_t cpu, uint64_t time)
{
	return jp_array_append(&times->times, &times->count, &times->capacity,
			       (struct jp_cpu_time){cpu, time});
}

JP_ORDER(compare_by_cpu, struct jp_cpu_time,
	 jp_compare(a->cpu, b->cpu) ?: jp_compare(a->time, b->time));

void jp_cpu_times_sort(struct jp_cpu_times *times)
{
	jp_sort(times->times, times->count, compare_by_cpu);
}

size_t jp_cpu_times_find_after(const struct jp_cpu_times *times, uint32_t cpu, uint64_t time)
{
	const struct jp_cpu_time limit = {cpu, time};
	size_t i;

	jp_search(i, times->count, compare_by_cpu(&times->times[i], &limit) <= 0);
	return i;
}

uint64_t jp_cpu_times_get_next(const struct jp_cpu_times *times, uint32_t cpu, uint64_t time)
{
	const size_t i = jp_cpu_times_find_after(times, cpu, time);

	return i < times->count && times->times[i].cpu == cpu ? times->times[i].time : UINT64_MAX;
}

void jp_cpu_times_free(struct jp_cpu_times *times)
{
	free(times->times);
	*times = (struct jp_cpu_times){0};
}
