// SPDX-License-Identifier: GPL-2.0-only
#include "harness/base/sort.h"
#include "harness/selftest/support/check.h"

struct pair {
	uint64_t first;
	int second;
};

JP_ORDER(compare_pairs, struct pair,
	 jp_compare(a->first, b->first) ?: jp_compare(b->second, a->second));
JP_ORDER(compare_texts, char *, strcmp(*a, *b));

TEST(sort)
{
	struct pair pairs[] = {{UINT64_MAX, 1}, {1, -2}, {UINT64_MAX, 3}, {1, 5}};
	const struct pair sorted[] = {{1, 5}, {1, -2}, {UINT64_MAX, 3}, {UINT64_MAX, 1}};
	char *texts[] = {"b", "a", "c"};
	uint64_t numbers[] = {UINT64_MAX, 7, 1}, *volatile no_numbers = NULL;
	bool is_sorted = true;

	jp_sort(pairs, 4, compare_pairs);
	for (int i = 0; i < 4; i++)
		is_sorted &=
			pairs[i].first == sorted[i].first && pairs[i].second == sorted[i].second;
	check(is_sorted, "structs are sorted by two keys, the second downwards");
	jp_sort(texts, 3, compare_texts);
	check(*texts[0] == 'a' && *texts[1] == 'b' && *texts[2] == 'c', "pointers are sorted");
	jp_sort(numbers, 3, jp_compare_by_value);
	check(numbers[0] == 1 && numbers[1] == 7 && numbers[2] == UINT64_MAX,
	      "numbers are sorted without a loss of upper bits");
	jp_sort(no_numbers, 0, jp_compare_by_value);
	check(jp_compare(-1, 0) < 0 && jp_compare(2, 2) == 0, "signed values are compared");
}
