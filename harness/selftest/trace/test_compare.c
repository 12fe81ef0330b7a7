// SPDX-License-Identifier: GPL-2.0-only
/* A trace is compared with a whole truth only. (Comparisons of live traces: test_trace.py.) */
#include "harness/selftest/support/check.h"
#include "harness/selftest/support/made_truth.h"
#include "harness/trace/compare.h"

#define SLOTS 8

static unsigned added;

static void write_acts(void)
{
	for (unsigned i = 0; i < added; i++)
		put_at(JP_TRUTH_MARK, 1000 + i, 0, 0, 0, 0);
}

static int compare_full_truth(unsigned nr_acts)
{
	struct jp_comparison comparison = {0};
	struct jp_error err = {0};
	int ret;

	added = nr_acts;
	check(write_truth("truth", SLOTS, write_acts) == 0, "the truth is written");
	ret = jp_comparison_make(&comparison, scratch_path("truth"), &err);
	if (ret)
		check(strstr(err.text, "2 records were lost"), "%s", err.text);
	jp_comparison_free(&comparison);
	return ret;
}

TEST(compare)
{
	check(compare_full_truth(SLOTS) == 0, "a truth may be full");
	check(compare_full_truth(SLOTS + 2) == -ENOSPC, "a truth that lost records is refused");
}
