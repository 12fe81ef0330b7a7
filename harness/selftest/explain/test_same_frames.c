// SPDX-License-Identifier: GPL-2.0-only
/* Tests the count of equal outermost frames in consecutive stacks. */
#include "harness/explain/same_frames.h"
#include "harness/selftest/support/check.h"

TEST(given_stacks)
{
	static struct jp_same_frames last;
	const uint64_t deep[] = {9, 5, 4, 3, 2, 1}, other[] = {7, 8, 3, 2, 1}, far[] = {3, 2, 0};

	check(!jp_count_same_frames(&last, 0, deep, 6) && !jp_count_same_frames(&last, 0, deep, 6),
	      "space 0 has no earlier stack");
	check(!jp_count_same_frames(&last, 1, deep, 6),
	      "the first stack of a space has no equal frames");
	check(jp_count_same_frames(&last, 1, deep, 6) == 6, "an equal stack has all frames equal");
	check(jp_count_same_frames(&last, 1, other, 5) == 3, "other inner frames leave 3 equal");
	check(jp_count_same_frames(&last, 1, deep, 6) == 3, "a deeper stack has 3 equal");
	check(jp_count_same_frames(&last, 1, deep + 3, 3) == 3, "its outer part alone has 3 equal");
	check(jp_count_same_frames(&last, 1, deep, 6) == 3, "after that only 3 frames are known");
	check(!jp_count_same_frames(&last, 1, far, 3), "another outermost frame has none equal");
	check(!jp_count_same_frames(&last, 1, far, 0) && !jp_count_same_frames(&last, 1, far, 3),
	      "an empty stack has none equal, nor the next");
	check(!jp_count_same_frames(&last, 2, far, 3), "another space has no earlier stack");
}
