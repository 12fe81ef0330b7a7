// SPDX-License-Identifier: GPL-2.0-only
/* Elements grouped by a number, compared with a scan of all elements. */
#include "harness/base/groups.h"

#include "harness/selftest/support/check.h"

enum { ELEMENTS = 500, NUMBERS = 20 };

static uint32_t number_of(size_t index)
{
	/* The numbers 0 and UINT32_MAX must work like any other. */
	const uint32_t number = (uint32_t)(index * index + index / 3) % NUMBERS;

	return number == NUMBERS - 1 ? UINT32_MAX : number;
}

static void check_group(const struct jp_groups *groups, uint32_t number)
{
	size_t i = 0;

	for (size_t index = 0; index < ELEMENTS; index++) {
		if (number_of(index) != number)
			continue;
		check(jp_groups_next(groups, number, &i) && i == index,
		      "element %zu is in group %u", index, number);
		i++;
	}
	check(!jp_groups_next(groups, number, &i), "group %u has no more elements", number);
}

TEST(groups)
{
	struct jp_groups groups = {0};
	size_t i = 0;

	check(!jp_groups_next(&groups, 0, &i), "an empty set has no groups");
	for (size_t index = ELEMENTS; index-- > 0;)
		check(!jp_groups_add(&groups, number_of(index), index), "%zu is added", index);
	jp_groups_sort(&groups);
	for (uint32_t number = 0; number < NUMBERS; number++)
		check_group(&groups, number);
	check_group(&groups, UINT32_MAX);
	i = (size_t)UINT32_MAX + 1;
	check(!jp_groups_next(&groups, 0, &i), "an index of 2^32 finds nothing");
	check(jp_groups_add(&groups, 0, i), "an index of 2^32 cannot be added");
	jp_groups_free(&groups);
	check(!groups.pairs && !groups.count, "the freed set is empty");
}
