// SPDX-License-Identifier: GPL-2.0-only
/* Tests the count of equal outermost frames in consecutive stacks. */
#include <string.h>

#include "harness/explain/same_frames.h"
#include "harness/selftest/support/check.h"

enum { MOST = 2 * JP_SAME_FRAMES };

static void test_given_stacks(void)
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

/* Compares random stacks of all depths frame by frame. */
static void test_random_stacks(void)
{
	static struct jp_same_frames last;
	static uint64_t now[MOST], before[MOST];
	uint64_t state = 1, depth = 0, bad = 0, most = 0;

	for (int round = 0; round < 2000; round++) {
		const uint64_t count = check_random(&state) % MOST,
			       most_same = count < depth ? count : depth;
		uint64_t same = 0, kept, found;

		/* The outermost frame is the last. */
		memmove(now + MOST - most_same, before + MOST - most_same,
			most_same * sizeof(*now));
		for (uint64_t i = MOST - count; i < MOST - most_same; i++)
			now[i] = check_random(&state);
		if (count)
			now[MOST - count + check_random(&state) % count] = check_random(&state) % 3;
		while (same < most_same && now[MOST - 1 - same] == before[MOST - 1 - same])
			same++;
		kept = same < JP_SAME_FRAMES ? same : JP_SAME_FRAMES;
		found = jp_count_same_frames(&last, 7, now + MOST - count, count);
		bad += found != kept;
		most = found > most ? found : most;
		memcpy(before, now, sizeof(now));
		depth = count;
	}
	check(!bad && most == JP_SAME_FRAMES,
	      "%llu of 2000 counts are wrong; at most %llu frames are equal",
	      (unsigned long long)bad, (unsigned long long)most);
}

int main(void)
{
	test_given_stacks();
	test_random_stacks();
	return check_done();
}
