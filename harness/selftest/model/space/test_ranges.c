// SPDX-License-Identifier: GPL-2.0-only
/* Ranges, compared with a plain array that has the value of each address. */
#include "harness/model/space/ranges.h"
#include "harness/selftest/support/check.h"

enum { ADDRESSES = 6000, COPIES = 4, STEPS = 60000 };

struct mirrored_ranges {
	struct jp_ranges *ranges;
	uint32_t values[ADDRESSES];
};

static struct mirrored_ranges copies[COPIES];

static bool set_range(struct mirrored_ranges *ranges, uint64_t start, uint64_t end, uint32_t value)
{
	for (uint64_t addr = start; addr < end; addr++)
		ranges->values[addr] = value;
	return !jp_ranges_set(&ranges->ranges, start, end, value);
}

/* Returns the largest range of one value around @addr. */
static struct jp_range find_run(const struct mirrored_ranges *ranges, uint64_t addr)
{
	struct jp_range run = {addr, addr, ranges->values[addr]};

	while (run.value && run.start && ranges->values[run.start - 1] == run.value)
		run.start--;
	while (run.end < ADDRESSES && ranges->values[run.end] == run.value)
		run.end++;
	if (!run.value && run.end == ADDRESSES)
		run.end = UINT64_MAX;
	return run;
}

static bool ranges_agree(const struct mirrored_ranges *ranges)
{
	uint64_t addr = 0;

	while (addr < ADDRESSES) {
		const struct jp_range expected = find_run(ranges, addr);
		const struct jp_range got = jp_ranges_at(ranges->ranges, addr);
		const struct jp_range *before = jp_ranges_find_below(ranges->ranges, addr);

		if (got.start != expected.start || got.end != expected.end ||
		    got.value != expected.value)
			return false;
		/* If a range begins before @addr, it must end at @addr. */
		if (addr && (ranges->values[addr - 1] != 0) != (before && before->end == addr))
			return false;
		addr = expected.end;
	}
	return true;
}

TEST(random)
{
	bool passed = true, contents_agree = true, is_owned = true;

	uint64_t chance = 1;

	for (size_t i = 0; i < COPIES; i++)
		copies[i] = (struct mirrored_ranges){.ranges = jp_ranges_new()};
	for (size_t step = 0; step < STEPS; step++) {
		struct mirrored_ranges *ranges = &copies[check_random(&chance) % COPIES],
				       *source = &copies[check_random(&chance) % COPIES];
		uint64_t start = check_random(&chance) % ADDRESSES;
		uint64_t max = check_random(&chance) % 500 ? 8 : ADDRESSES;
		uint64_t end = start + 1 + check_random(&chance) % max;

		passed &= set_range(ranges, start, end < ADDRESSES ? end : ADDRESSES,
				    check_random(&chance) % 4);
		if (step % 97 == 0 && ranges != source) {
			jp_ranges_free(ranges->ranges);
			ranges->ranges = jp_ranges_share(source->ranges);
			memcpy(ranges->values, source->values, sizeof(ranges->values));
		}
		if (step % 101 == 0) {
			struct jp_range *range = jp_ranges_own(&ranges->ranges, start);

			is_owned &= !range ||
				    range == jp_ranges_find_at_or_above(ranges->ranges, start);
		}
		if (step % 500 == 0)
			for (size_t i = 0; i < COPIES; i++)
				contents_agree &= ranges_agree(&copies[i]);
	}
	check(passed && is_owned, "%d changes of %d copies that share memory work", STEPS, COPIES);
	check(contents_agree, "no change shows in another copy");
	for (size_t i = 0; i < COPIES; i++)
		jp_ranges_free(copies[i].ranges);
}
