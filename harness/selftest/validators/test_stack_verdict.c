// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests that every stack gets exactly one verdict. For each stack of up to four frames over five
 * addresses and each of several truths, exactly one of the verdict definitions repeated below must
 * hold, and the function under test must return that verdict.
 */
#include "harness/selftest/support/check.h"
#include "validators/stack_verdict.h"

enum { FRAMES = 4, ADDRESSES = 5 };

struct built_stack {
	uint64_t frames[FRAMES];
	uint32_t count;
};

static bool stacks_equal(const struct built_stack *a, const struct built_stack *b)
{
	return a->count == b->count && !memcmp(a->frames, b->frames, a->count * sizeof(uint64_t));
}

static bool is_part_of(const struct built_stack *part, const struct built_stack *built)
{
	/* Try all ways to leave out frames. */
	for (uint32_t mask = 0; mask < 1u << built->count; mask++) {
		struct built_stack left = {.count = 0};

		for (uint32_t i = 0; i < built->count; i++)
			if (mask & 1u << i)
				left.frames[left.count++] = built->frames[i];
		if (stacks_equal(part, &left))
			return true;
	}
	return false;
}

static uint64_t find_root(const struct built_stack *stack)
{
	return stack->count ? stack->frames[stack->count - 1] : 0;
}

static bool is_verdict(enum jp_verdict verdict, const struct built_stack *seen_stack,
		       const struct built_stack *must, const struct built_stack *full_stack)
{
	bool is_exact = stacks_equal(seen_stack, full_stack);
	bool as_must = stacks_equal(seen_stack, must) && !is_exact;
	bool true_frames = (is_part_of(seen_stack, full_stack) || is_part_of(seen_stack, must)) &&
			   (!seen_stack->count || seen_stack->frames[0] == full_stack->frames[0]);
	bool is_settled = is_exact || as_must;
	bool rooted = seen_stack->count && (find_root(seen_stack) == find_root(full_stack) ||
					    find_root(seen_stack) == find_root(must));
	bool all_that_must = is_part_of(must, seen_stack);

	switch (verdict) {
	case JP_EXACT:
		return is_exact;
	case JP_GAP:
		return as_must || (!is_settled && true_frames && seen_stack->count > 1 && rooted &&
				   all_that_must);
	case JP_HOLE:
		return !is_settled && true_frames && seen_stack->count > 1 && rooted &&
		       !all_that_must;
	case JP_SHORT:
		return !is_settled && true_frames && seen_stack->count > 1 && !rooted;
	case JP_SINGLE:
		return !is_settled && true_frames && seen_stack->count <= 1;
	case JP_EXTRA:
		return !is_settled && !true_frames && all_that_must &&
		       seen_stack->frames[0] == full_stack->frames[0];
	case JP_WRONG:
		return !is_settled && !true_frames &&
		       !(all_that_must && seen_stack->frames[0] == full_stack->frames[0]);
	default:
		return false;
	}
}

static bool advance_stack(struct built_stack *stack)
{
	for (uint32_t i = 0; i < stack->count; i++) {
		if (++stack->frames[i] <= ADDRESSES)
			return true;
		stack->frames[i] = 1;
	}
	if (++stack->count > FRAMES)
		return false;
	stack->frames[stack->count - 1] = 1;
	return true;
}

/* Whether a truncated stack is as predicted. The stack has four frames; the second and third lie 16
 * and 40 bytes above sp, the last at an unknown place. */
TEST(predicted)
{
	static uint64_t must[] = {1, 2, 3, 4}, return_offsets[] = {0, 1016, 1040, 0};
	static const struct {
		const char *label;
		enum jp_method method;
		uint64_t frames[6]; /* up to a 0 */
		enum jp_unwind_stop stop;
		uint64_t dumped;
		bool predicted;
	} table[] = {
		{"a whole callchain", JP_CHAIN, {1, 2, 3, 4}, JP_UNWIND_KERNEL, 0, true},
		{"all of a dump", JP_DUMP, {1, 2, 3, 4}, JP_UNWIND_ROOT, 64, true},
		{"no frame of a dump", JP_DUMP, {0}, JP_UNWIND_NO_DATA, 0, false},
		{"an empty callchain", JP_CHAIN, {0}, JP_UNWIND_MAX_STACK, 0, false},
		{"a frame too many", JP_CHAIN, {1, 2, 3, 4, 5}, JP_UNWIND_MAX_STACK, 0, false},
		{"a wrong last frame", JP_DUMP, {1, 2, 5}, JP_UNWIND_DUMP_END, 48, false},
		{"a wrong second frame", JP_CHAIN, {1, 5, 3, 4}, JP_UNWIND_KERNEL, 0, false},
		{"a callchain cut at the limit", JP_CHAIN, {1, 2}, JP_UNWIND_MAX_STACK, 4096, true},
		{"a cut below the limit", JP_CHAIN, {1, 2}, JP_UNWIND_KERNEL, 4096, false},
		{"a cut callchain beside a small dump", JP_CHAIN, {1}, JP_UNWIND_KERNEL, 8, false},
		{"a cut callchain without a dump", JP_CHAIN, {1, 2}, JP_UNWIND_KERNEL, 0, false},
		{"deferred, but not recorded", JP_CHAIN, {1, 2, 3}, JP_UNWIND_NOT_CAME, 40, false},
		{"frames up to the dump's end", JP_DUMP, {1, 2}, JP_UNWIND_DUMP_END, 40, true},
		{"up to a dump cut by a page", JP_DUMP, {1, 2}, JP_UNWIND_DUMP_SHORT, 40, true},
		{"frames that end before the dump", JP_DUMP, {1, 2}, JP_UNWIND_DUMP_END, 48, false},
		{"far before the dump's end", JP_DUMP_FP, {1}, JP_UNWIND_BAD_FRAME, 64, false},
		{"an empty dump", JP_DUMP, {1}, JP_UNWIND_DUMP_SHORT, 0, true},
		{"no frame behind the dump", JP_DUMP, {1, 2, 3}, JP_UNWIND_DUMP_END, 64, true},
		{"no frame within the dump", JP_DUMP, {1, 2, 3}, JP_UNWIND_BAD_CFI, 64, false},
		{"a dump cut at the limit", JP_DUMP, {1, 2}, JP_UNWIND_MAX_STACK, 4096, false},
	};
	const struct jp_truth_stack truth = {
		.nr_seen = 4, .expected = must, .return_addrs = return_offsets};

	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		const enum jp_unwind_stop stop = table[i].stop;
		struct jp_unwound unwound = {
			.frames = table[i].frames,
			.stop = stop,
			.is_incomplete = stop == JP_UNWIND_DUMP_END ||
					 stop == JP_UNWIND_MAX_STACK || stop == JP_UNWIND_NOT_CAME,
		};

		while (unwound.frames[unwound.count])
			unwound.count++;
		check(jp_stack_is_predicted(&truth, table[i].method, &unwound, 1000,
					    table[i].dumped) == table[i].predicted,
		      "%s: %s", table[i].label, table[i].predicted ? "predicted" : "not predicted");
	}
}

TEST(stack_verdict)
{
	static const struct {
		const char *name;
		struct built_stack must, whole;
	} truths[] = {
		{"nothing missed", {{1, 2, 3, 4}, 4}, {{1, 2, 3, 4}, 4}},
		{"one caller missed", {{1, 3, 4}, 3}, {{1, 2, 3, 4}, 4}},
		{"recursion", {{1, 2, 2, 3}, 4}, {{1, 2, 2, 3}, 4}},
		{"only the address", {{1}, 1}, {{1, 2}, 2}},
		{"garbage at the root", {{1, 3, 5}, 3}, {{1, 2, 3}, 3}},
	};
	uint64_t counts[JP_VERDICTS] = {0};
	bool passed = true;

	for (size_t i = 0; i < sizeof(truths) / sizeof(*truths); i++) {
		const struct built_stack *must = &truths[i].must, *full_stack = &truths[i].whole;
		struct built_stack seen_stack = {.count = 0};

		do {
			enum jp_verdict verdict = jp_stack_verdict(
				seen_stack.frames, seen_stack.count, must->frames, must->count,
				full_stack->frames, full_stack->count);
			int nr_matches = 0;

			counts[verdict]++;
			for (enum jp_verdict other_verdict = 0; other_verdict < JP_VERDICTS;
			     other_verdict++)
				nr_matches +=
					is_verdict(other_verdict, &seen_stack, must, full_stack);
			if (nr_matches == 1 && is_verdict(verdict, &seen_stack, must, full_stack))
				continue;
			passed = false;
			printf("# %s: %u frames, first %d: %s, while %d verdicts hold\n",
			       truths[i].name, seen_stack.count, (int)seen_stack.frames[0],
			       jp_verdict_text(verdict), nr_matches);
		} while (advance_stack(&seen_stack));
	}
	check(passed, "each stack has exactly one verdict");
	for (enum jp_verdict verdict = JP_WRONG; verdict < JP_VERDICTS; verdict++) {
		if (counts[verdict])
			continue;
		passed = false;
		printf("# no stack has the verdict %s\n", jp_verdict_text(verdict));
	}
	check(passed, "each verdict occurs");
}
