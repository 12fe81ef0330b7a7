// SPDX-License-Identifier: GPL-2.0-only
/* Growing arrays, and binary search. */
#include "harness/base/array.h"

#include "harness/base/search.h"
#include "harness/selftest/support/check.h"

enum { MANY = 100000 };

struct item {
	uint64_t id;
	char payload[16];
};

TEST(push_grows_array)
{
	struct item *items = NULL, *item;
	size_t count = 0, capacity = 0, moves = 0, old_capacity;
	bool passed = true;

	for (uint64_t i = 0; i < MANY && passed; i++) {
		old_capacity = capacity;
		item = jp_array_push(&items, &count, &capacity);
		passed = item && item == &items[i] && count == i + 1 && capacity >= count &&
			 !item->id && !item->payload[15];
		if (passed)
			memset(item, 0xff, sizeof(*item));
		if (passed)
			item->id = i;
		moves += capacity != old_capacity;
	}
	for (uint64_t i = 0; i < count; i++)
		passed &= items[i].id == i && items[i].payload[0] == (char)0xff;
	check(passed && count == MANY, "each push appends a zeroed element");
	check(moves < 20, "pushing %d elements reallocates only %zu times", MANY, moves);
	count = 5;
	item = jp_array_push(&items, &count, &capacity);
	check(item == &items[5] && !item->id && !item->payload[0], "push zeroes a used element");
	check(!jp_array_append(&items, &count, &capacity, (struct item){.id = 9}) && count == 7 &&
		      items[6].id == 9,
	      "a value is appended");
	free(items);
}

TEST(reserve)
{
	uint16_t *items = NULL;
	size_t capacity = 0, old_capacity;

	check(jp_array_reserve(&items, &capacity, 0) && !items && !capacity,
	      "reserving 0 elements allocates nothing");
	check(jp_array_reserve(&items, &capacity, 1) && items && capacity >= 1,
	      "one element is reserved");
	check(jp_array_reserve(&items, &capacity, 1000) && capacity >= 1000 && capacity < 2000,
	      "reserving 1000 elements gives room for %zu", capacity);
	items[0] = 17;
	items[999] = 18;
	old_capacity = capacity;
	check(jp_array_reserve(&items, &capacity, old_capacity) && capacity == old_capacity,
	      "enough capacity stays");
	check(jp_array_reserve(&items, &capacity, old_capacity + 1) &&
		      capacity == 2 * old_capacity && items[0] == 17 && items[999] == 18,
	      "the capacity doubles and elements keep their values");
	free(items);
}

TEST(overflow)
{
	static const size_t sizes[] = {SIZE_MAX, SIZE_MAX / 2 + 2, SIZE_MAX / sizeof(struct item),
				       PTRDIFF_MAX / sizeof(struct item) + 1};
	struct item *items = NULL, *before;
	size_t count = 0, capacity = 0, old_capacity;
	bool passed = true;

	if (!jp_array_push(&items, &count, &capacity))
		return;
	items[0].id = 5;
	before = items;
	old_capacity = capacity;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		passed &= !jp_array_reserve(&items, &capacity, sizes[i]) && items == before &&
			  capacity == old_capacity && items[0].id == 5;
	check(passed, "sizes beyond the address space are refused and change nothing");
	/* Count times size is more than SIZE_MAX, and modulo 2^64 small. */
	old_capacity = (size_t)1 << 60;
	check(!jp_array_grow(&items, &old_capacity, old_capacity + 1, 16) && items == before &&
		      old_capacity == (size_t)1 << 60,
	      "a size of more than 64 bits is refused");
	old_capacity = count = SIZE_MAX / 2;
	check(!jp_array_add(&items, &count, &old_capacity, 1) &&
		      jp_array_append(&items, &count, &old_capacity, *before) == -ENOMEM &&
		      count == SIZE_MAX / 2 && items == before,
	      "a full array that cannot grow is unchanged");
	free(items);
}

TEST(binary_search)
{
	uint64_t ids[40];
	bool passed = true, nothing = true;
	size_t index;

	for (size_t i = 0; i < 40; i++)
		ids[i] = 3 * (i / 3) + 2; /* add each id three times */
	for (size_t count = 0; count <= 40; count++)
		for (uint64_t id = 0; id < 50; id++) {
			size_t min = 0, upper = 0;

			while (min < count && ids[min] < id)
				min++;
			while (upper < count && ids[upper] <= id)
				upper++;
			jp_search(index, count, ids[index] < id);
			passed &= index == min;
			jp_search(index, count, ids[index] <= id);
			passed &= index == upper;
		}
	check(passed, "both bounds agree with a linear search");
	jp_search(index, 0, (nothing = false));
	check(index == 0 && nothing, "an empty array is searched without a comparison");
	jp_search(index, SIZE_MAX, index < SIZE_MAX - 1);
	check(index == SIZE_MAX - 1, "indices up to SIZE_MAX are searched");
}
