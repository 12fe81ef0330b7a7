// SPDX-License-Identifier: GPL-2.0-only
/* Tests that a requested grace period passes, and that stopping does not wait for a grace
 * period. */
#include <sched.h>

#include "harness/base/clock.h"
#include "harness/capture/rcu_grace.h"
#include "harness/selftest/support/check.h"

static bool wait_for_grace(const struct jp_grace *grace)
{
	const uint64_t end = jp_clock_now() + 30 * JP_NS_PER_S;

	while (!jp_grace_has_passed(grace) && jp_clock_now() < end)
		sched_yield();
	return jp_grace_has_passed(grace);
}

TEST(rcu_grace)
{
	struct jp_grace grace;
	struct jp_error err;

	check(!jp_grace_start(&grace, &err) && jp_grace_has_passed(&grace),
	      "without a request no grace period is pending");
	if (!grace.runs) {
		check(true, "a requested grace period passes # SKIP no membarrier()");
		jp_grace_ask(&grace);
		check(jp_grace_has_passed(&grace), "without membarrier() a request passes at once");
		return;
	}
	for (int i = 0; i < 3; i++) {
		const uint64_t start = jp_clock_now();
		bool is_passed;

		jp_grace_ask(&grace);
		is_passed = wait_for_grace(&grace);
		check(is_passed, "a requested grace period passes, after %llu us",
		      (unsigned long long)((jp_clock_now() - start) / 1000));
	}
	jp_grace_ask(&grace);
	jp_grace_stop(&grace);
	check(!grace.runs, "stopping works while a grace period is pending");
}
