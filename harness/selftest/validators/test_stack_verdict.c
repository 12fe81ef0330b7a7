// SPDX-License-Identifier: GPL-2.0-only
/*
 * Every stack gets exactly one verdict. All stacks of up to four frames over five addresses are
 * laid against several truths; the verdicts' definitions, written down here once more and each for
 * itself, must agree in exactly one place, and that must be the one that the function gives.
 */
#include "harness/selftest/support/check.h"
#include "validators/stack_verdict.h"

enum { FRAMES = 4, ADDRESSES = 5 };

struct built_stack {
	uint64_t frames[FRAMES];
	uint32_t count;
};

static bool equal(const struct built_stack *a, const struct built_stack *b)
{
	return a->count == b->count && !memcmp(a->frames, b->frames, a->count * sizeof(uint64_t));
}

static bool part_of(const struct built_stack *part, const struct built_stack *all)
{
	/* By all ways of leaving frames out, not by the clever way. */
	for (uint32_t mask = 0; mask < 1u << all->count; mask++) {
		struct built_stack left = {.count = 0};

		for (uint32_t i = 0; i < all->count; i++)
			if (mask & 1u << i)
				left.frames[left.count++] = all->frames[i];
		if (equal(part, &left))
			return true;
	}
	return false;
}

static uint64_t root(const struct built_stack *stack)
{
	return stack->count ? stack->frames[stack->count - 1] : 0;
}

static bool is(enum jp_verdict verdict, const struct built_stack *seen,
	       const struct built_stack *must, const struct built_stack *whole)
{
	bool exact = equal(seen, whole);
	bool as_must = equal(seen, must) && !exact;
	bool true_frames = (part_of(seen, whole) || part_of(seen, must)) &&
			   (!seen->count || seen->frames[0] == whole->frames[0]);
	bool settled = exact || as_must;
	bool rooted = seen->count && (root(seen) == root(whole) || root(seen) == root(must));
	bool all_that_must = part_of(must, seen);

	switch (verdict) {
	case JP_EXACT:
		return exact;
	case JP_GAP:
		return as_must ||
		       (!settled && true_frames && seen->count > 1 && rooted && all_that_must);
	case JP_HOLE:
		return !settled && true_frames && seen->count > 1 && rooted && !all_that_must;
	case JP_SHORT:
		return !settled && true_frames && seen->count > 1 && !rooted;
	case JP_SINGLE:
		return !settled && true_frames && seen->count <= 1;
	case JP_EXTRA:
		return !settled && !true_frames && all_that_must &&
		       seen->frames[0] == whole->frames[0];
	case JP_WRONG:
		return !settled && !true_frames &&
		       !(all_that_must && seen->frames[0] == whole->frames[0]);
	default:
		return false;
	}
}

static bool next(struct built_stack *stack)
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

/* What a method saw of a stack of four frames, whose second and third stand 16 and 40 bytes above
 * sp, the last one nobody knows where. */
static void predicted(void)
{
	static uint64_t must[] = {1, 2, 3, 4}, at[] = {0, 1016, 1040, 0};
	static const struct {
		const char *what;
		enum jp_method method;
		uint64_t frames[5];
		uint32_t count;
		enum jp_unwind_stop stop;
		bool cut;
		uint64_t dumped;
		bool predicted;
	} table[] = {
		{"all", JP_CHAIN, {1, 2, 3, 4}, 4, JP_UNWIND_KERNEL, false, 0, true},
		{"all", JP_DUMP, {1, 2, 3, 4}, 4, JP_UNWIND_ROOT, false, 64, true},
		{"nothing", JP_DUMP, {0}, 0, JP_UNWIND_NO_DATA, true, 0, false},
		{"nothing", JP_CHAIN, {0}, 0, JP_UNWIND_MAX_STACK, true, 0, false},
		{"more", JP_CHAIN, {1, 2, 3, 4, 5}, 5, JP_UNWIND_MAX_STACK, true, 0, false},
		{"another last one", JP_DUMP, {1, 2, 5}, 3, JP_UNWIND_DUMP_END, true, 48, false},
		{"another", JP_CHAIN, {1, 5, 3, 4}, 4, JP_UNWIND_KERNEL, false, 0, false},
		{"full", JP_CHAIN, {1, 2}, 2, JP_UNWIND_MAX_STACK, true, 4096, true},
		{"not full", JP_CHAIN, {1, 2}, 2, JP_UNWIND_KERNEL, false, 4096, false},
		{"beside a small dump", JP_CHAIN, {1}, 1, JP_UNWIND_KERNEL, false, 8, false},
		{"a chain beside none", JP_CHAIN, {1, 2}, 2, JP_UNWIND_KERNEL, false, 0, false},
		{"a chain of another", JP_CHAIN, {1, 2, 3}, 3, JP_UNWIND_NOT_CAME, true, 40, false},
		{"up to the dump's end", JP_DUMP, {1, 2}, 2, JP_UNWIND_DUMP_END, true, 40, true},
		{"up to it, by a page", JP_DUMP, {1, 2}, 2, JP_UNWIND_DUMP_SHORT, false, 40, true},
		{"before it", JP_DUMP, {1, 2}, 2, JP_UNWIND_DUMP_END, true, 48, false},
		{"before it, and far", JP_DUMP_FP, {1}, 1, JP_UNWIND_BAD_FRAME, false, 64, false},
		{"an empty dump", JP_DUMP, {1}, 1, JP_UNWIND_DUMP_SHORT, false, 0, true},
		{"native, cut", JP_DUMP, {1, 2, 3}, 3, JP_UNWIND_DUMP_END, true, 64, true},
		{"native, not cut", JP_DUMP, {1, 2, 3}, 3, JP_UNWIND_BAD_CFI, false, 64, false},
		{"a full dump", JP_DUMP, {1, 2}, 2, JP_UNWIND_MAX_STACK, true, 4096, false},
	};
	const struct jp_truth_stack truth = {.nr_seen = 4, .seen = must, .at = at};

	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		const struct jp_unwound unwound = {.frames = table[i].frames,
						   .count = table[i].count,
						   .stop = table[i].stop,
						   .cut = table[i].cut};

		check(jp_stack_predicted(&truth, table[i].method, &unwound, 1000,
					 table[i].dumped) == table[i].predicted,
		      "%s: %s", table[i].what, table[i].predicted ? "predicted" : "not predicted");
	}
}

int main(void)
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
	uint64_t given[JP_VERDICTS] = {0};
	bool good = true;

	for (size_t i = 0; i < sizeof(truths) / sizeof(*truths); i++) {
		const struct built_stack *must = &truths[i].must, *whole = &truths[i].whole;
		struct built_stack seen = {.count = 0};

		do {
			enum jp_verdict verdict =
				jp_stack_verdict(seen.frames, seen.count, must->frames, must->count,
						 whole->frames, whole->count);
			int holds = 0;

			given[verdict]++;
			for (enum jp_verdict other = 0; other < JP_VERDICTS; other++)
				holds += is(other, &seen, must, whole);
			if (holds == 1 && is(verdict, &seen, must, whole))
				continue;
			good = false;
			printf("# %s: %u frames, first %d: %s, while %d verdicts hold\n",
			       truths[i].name, seen.count, (int)seen.frames[0],
			       jp_verdict_text(verdict), holds);
		} while (next(&seen));
	}
	check(good, "verdicts are total and disjoint");
	for (enum jp_verdict verdict = JP_WRONG; verdict < JP_VERDICTS; verdict++) {
		if (given[verdict])
			continue;
		good = false;
		printf("# no stack was found to be %s: the test tests nothing there\n",
		       jp_verdict_text(verdict));
	}
	check(good, "each verdict was given");
	predicted();
	return check_done();
}
