// SPDX-License-Identifier: GPL-2.0-only
/* Arrays that grow, and binary search in them. */
#include "harness/base/array.h"

#include "harness/base/search.h"
#include "harness/selftest/support/check.h"

enum { MANY = 100000 };

struct item {
	uint64_t id;
	char rest[16];
};

static void push(void)
{
	struct item *items = NULL, *item;
	size_t count = 0, capacity = 0, moves = 0, old;
	bool good = true;

	for (uint64_t i = 0; i < MANY && good; i++) {
		old = capacity;
		item = jp_array_push(&items, &count, &capacity);
		good = item && item == &items[i] && count == i + 1 && capacity >= count &&
		       !item->id && !item->rest[15];
		if (good)
			memset(item, 0xff, sizeof(*item));
		if (good)
			item->id = i;
		moves += capacity != old;
	}
	for (uint64_t i = 0; i < count; i++)
		good &= items[i].id == i && items[i].rest[0] == (char)0xff;
	check(good && count == MANY, "each new element is the last one, and zero");
	check(moves < 20, "%d elements are moved %zu times", MANY, moves);
	count = 5;
	item = jp_array_push(&items, &count, &capacity);
	check(item == &items[5] && !item->id && !item->rest[0],
	      "zero where something was before, too");
	free(items);
}

static void reserve(void)
{
	uint16_t *items = NULL;
	size_t capacity = 0, old;

	check(jp_array_reserve(&items, &capacity, 0) && !items && !capacity, "nothing for nothing");
	check(jp_array_reserve(&items, &capacity, 1) && items && capacity >= 1, "for one");
	check(jp_array_reserve(&items, &capacity, 1000) && capacity >= 1000 && capacity < 2000,
	      "for many: %zu", capacity);
	items[0] = 17;
	items[999] = 18;
	old = capacity;
	check(jp_array_reserve(&items, &capacity, old) && capacity == old, "what is there is kept");
	check(jp_array_reserve(&items, &capacity, old + 1) && capacity == 2 * old &&
		      items[0] == 17 && items[999] == 18,
	      "the capacity doubles, and the elements stay");
	free(items);
}

static void overflow(void)
{
	static const size_t needs[] = {SIZE_MAX, SIZE_MAX / 2 + 2, SIZE_MAX / sizeof(struct item),
				       PTRDIFF_MAX / sizeof(struct item) + 1};
	struct item *items = NULL, *before;
	size_t count = 0, capacity = 0, old;
	bool good = true;

	if (!jp_array_push(&items, &count, &capacity))
		return;
	items[0].id = 5;
	before = items;
	old = capacity;
	for (size_t i = 0; i < sizeof(needs) / sizeof(needs[0]); i++)
		good &= !jp_array_reserve(&items, &capacity, needs[i]) && items == before &&
			capacity == old && items[0].id == 5;
	check(good, "a size that is none is refused, and nothing changed");
	/* 2^61 elements of 8 bytes or more are 0 or little, were the product cut to 64 bits. */
	old = (size_t)1 << 60;
	check(!jp_array_grow(&items, &old, old + 1, 16) && items == before &&
		      old == (size_t)1 << 60,
	      "a product beyond 64 bits is refused");
	old = count = SIZE_MAX / 2;
	check(!jp_array_add(&items, &count, &old, 1) && count == SIZE_MAX / 2 && items == before,
	      "a full array that cannot grow stays");
	free(items);
}

/* Against a search that looks at each, for every count and key. */
static void search(void)
{
	uint64_t ids[40];
	bool good = true, nothing = true;
	size_t at;

	for (size_t i = 0; i < 40; i++)
		ids[i] = 3 * (i / 3) + 2; /* each three times */
	for (size_t count = 0; count <= 40; count++)
		for (uint64_t id = 0; id < 50; id++) {
			size_t least = 0, above = 0;

			while (least < count && ids[least] < id)
				least++;
			while (above < count && ids[above] <= id)
				above++;
			jp_search(at, count, ids[at] < id);
			good &= at == least;
			jp_search(at, count, ids[at] <= id);
			good &= at == above;
		}
	check(good, "the first that is not before, and the first that is above");
	jp_search(at, 0, (nothing = false));
	check(at == 0 && nothing, "of nothing, nothing is asked");
	jp_search(at, SIZE_MAX, at < SIZE_MAX - 1);
	check(at == SIZE_MAX - 1, "however large the indices are");
	check(jp_compare(UINT64_MAX, UINT64_C(1)) > 0 && jp_compare(-1, 0) < 0 &&
		      jp_compare(2, 2) == 0,
	      "what differs in the upper bits alone compares too");
}

int main(void)
{
	push();
	reserve();
	overflow();
	search();
	return check_done();
}
