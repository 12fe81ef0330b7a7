// SPDX-License-Identifier: GPL-2.0-only
/* Tests which acts count for a case: those that happened while the capture ran. */
#include "harness/format/truth/tally.h"
#include "harness/selftest/support/made_truth.h"

static void write_acts(void)
{
	for (uint64_t time = 1000; time <= 5000; time += 1000)
		put_at(JP_TRUTH_MAP, time, time << 12, 0x1000, 5, 0);
}

/* Returns the number of mapped ranges that count for a capture with these times. */
static uint64_t count_maps(uint64_t started, uint64_t begun, uint64_t end)
{
	uint64_t counts[JP_ACTS];
	struct jp_error err;

	check(!jp_acts_count(scratch_path("truth"), started, begun, end, counts, &err),
	      "the file is read");
	return counts[JP_ACT_MAP];
}

TEST(tally)
{
	if (!check(!write_truth("truth", 64, write_acts), "a truth is written"))
		return;
	check(count_maps(UINT64_MAX, 3000, 4000) == 2, "an attach: from its begin to its end");
	check(count_maps(0, 3000, 4000) == 4,
	      "a launch: also what came before it reported its begin");
}
