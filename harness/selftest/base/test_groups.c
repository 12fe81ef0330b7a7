// SPDX-License-Identifier: GPL-2.0-only
/* Elements by a number, against a look at all of them. */
#include "harness/base/groups.h"

#include "harness/selftest/support/check.h"

enum { ELEMENTS = 500, NUMBERS = 20 };

static uint32_t number_of(size_t index)
{
	/* The largest and 0 are numbers as any other. */
	const uint32_t number = (uint32_t)(index * index + index / 3) % NUMBERS;

	return number == NUMBERS - 1 ? UINT32_MAX : number;
}

static void same(const struct jp_groups *groups, uint32_t number)
{
	size_t i = 0;

	for (size_t index = 0; index < ELEMENTS; index++) {
		if (number_of(index) != number)
			continue;
		check(jp_groups_next(groups, number, &i) && i == index, "%zu has %u", index,
		      number);
		i++;
	}
	check(!jp_groups_next(groups, number, &i), "nothing behind the last of %u", number);
}

int main(void)
{
	struct jp_groups groups = {0};
	size_t i = 0;

	check(!jp_groups_next(&groups, 0, &i), "nothing in an empty one");
	for (size_t index = ELEMENTS; index-- > 0;)
		check(!jp_groups_add(&groups, number_of(index), index), "added");
	jp_groups_sort(&groups);
	for (uint32_t number = 0; number < NUMBERS; number++)
		same(&groups, number);
	same(&groups, UINT32_MAX);
	i = (size_t)UINT32_MAX + 1;
	check(!jp_groups_next(&groups, 0, &i), "no index is so large");
	check(jp_groups_add(&groups, 0, i), "nor can it be added");
	jp_groups_free(&groups);
	check(!groups.pairs && !groups.count, "freed");
	return check_done();
}
