// SPDX-License-Identifier: GPL-2.0-only
#include "harness/base/groups.h"

#include <errno.h>
#include <stdlib.h>

#include "harness/base/array.h"
#include "harness/base/search.h"
#include "harness/base/sort.h"

int jp_groups_add(struct jp_groups *groups, uint32_t number, size_t index)
{
	if (index > UINT32_MAX)
		return -ENOMEM;
	return jp_array_append(&groups->pairs, &groups->count, &groups->capacity,
			       (uint64_t)number << 32 | index);
}

void jp_groups_sort(struct jp_groups *groups)
{
	jp_sort(groups->pairs, groups->count, jp_compare_by_value);
}

void jp_groups_free(struct jp_groups *groups)
{
	free(groups->pairs);
	*groups = (struct jp_groups){0};
}

bool jp_groups_next(const struct jp_groups *groups, uint32_t number, size_t *index)
{
	const uint64_t min = (uint64_t)number << 32 | *index;
	size_t i;

	if (*index > UINT32_MAX)
		return false;
	jp_search(i, groups->count, groups->pairs[i] < min);
	if (i == groups->count || groups->pairs[i] >> 32 != number)
		return false;
	*index = (uint32_t)groups->pairs[i];
	return true;
}
