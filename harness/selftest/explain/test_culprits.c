// SPDX-License-Identifier: GPL-2.0-only
/* Whose code the kernel's walk ends in, and where most: of ends that somebody counted. */
#include "harness/explain/blame.h"
#include "harness/explain/culprits.h"
#include "harness/selftest/support/check.h"

static struct jp_image image = {.pid = 7, .files = true, .libc = true};

static struct jp_end end_at(enum jp_end_kind kind, uint64_t addr, uint64_t samples)
{
	return (struct jp_end){.image = &image,
			       .kind = kind,
			       .code = JP_CODE_FILE,
			       .use = JP_FRAME_USED,
			       .file = "/lib/some.so",
			       .addr = addr,
			       .start = addr & ~UINT64_C(0xfff),
			       .end = (addr & ~UINT64_C(0xfff)) + 0x1000,
			       .samples = samples};
}

/* Of ends with as many samples the first is shown: the page does not depend on what follows. */
static void the_worst_is_the_first(void)
{
	struct jp_end list[] = {
		end_at(JP_END_SINGLE, 0x5010, 4), end_at(JP_END_SINGLE, 0x2010, 9),
		end_at(JP_END_HERE, 0x3010, 9),   end_at(JP_END_LEAF, 0x4010, 6),
		end_at(JP_END_LEAF, 0x1010, 6),
	};
	struct jp_ends ends = {.list = list, .count = sizeof(list) / sizeof(*list)};
	struct jp_culprits culprits;
	const struct jp_culprit *one;

	if (!check(jp_culprits_find(&ends, &culprits) == 0 && culprits.count == 1,
		   "ends in one file have one culprit"))
		return;
	one = &culprits.list[0];
	check(one->worst == &list[1], "the first of the places where most end");
	check(one->leaf == &list[3], "the first of the places where most lack the caller");
	check(one->broken == 22 && one->single == 13 && one->callers == 12 && one->passing == 12,
	      "samples by kind: %d %d %d %d", (int)one->broken, (int)one->single, (int)one->callers,
	      (int)one->passing);
	check(one->start == 0x1000 && one->end == 0x6000, "all of its mappings");
	jp_culprits_free(&culprits);
}

/* Who keeps the frame pointer is at no fault for the callers that a leaf lacks. */
static void who_keeps_it_lacks_no_caller(void)
{
	struct jp_end leaf = end_at(JP_END_LEAF, 0x1010, 6);
	struct jp_ends ends = {.list = &leaf, .count = 1};
	struct jp_culprits culprits;

	leaf.keeps = true;
	check(jp_culprits_find(&ends, &culprits) == 0 && culprits.count == 1 &&
		      culprits.list[0].passing == 6 && !culprits.list[0].callers &&
		      !culprits.list[0].leaf && !culprits.list[0].worst,
	      "it passes");
	jp_culprits_free(&culprits);
}

static void each_file_for_itself(void)
{
	struct jp_image other = {.pid = 8, .files = true, .libc = true};
	struct jp_end list[] = {end_at(JP_END_SINGLE, 0x1010, 1), end_at(JP_END_SINGLE, 0x1010, 2),
				end_at(JP_END_SINGLE, 0x1010, 4)};
	struct jp_ends ends = {.list = list, .count = 3};
	struct jp_culprits culprits;

	list[1].file = "/lib/other.so";
	list[2].image = &other;
	check(jp_culprits_find(&ends, &culprits) == 0 && culprits.count == 3 &&
		      culprits.list[0].broken == 1 && culprits.list[1].broken == 2 &&
		      culprits.list[2].broken == 4,
	      "another file, or the same in another process, is another culprit");
	jp_culprits_free(&culprits);
}

/* Ranges that touch are one, whichever of them it is. */
static void ranges_grow(void)
{
	struct jp_blame blame = {.nr_ranges = 0};

	jp_blame_range(&blame, 0x1000, 0x2000);
	jp_blame_range(&blame, 0x5000, 0x6000);
	jp_blame_range(&blame, 0x6000, 0x7000);
	check(blame.nr_ranges == 2 && blame.ranges[1].start == 0x5000 &&
		      blame.ranges[1].end == 0x7000,
	      "the second of %d ranges grows", (int)blame.nr_ranges);
}

#define FAR (UINT64_C(1) << 40)

/* Whether a process became another program: by what its samples in no mapping show. */
static void replaced(void)
{
	static const struct {
		const char *what;
		bool files;
		uint64_t unmapped, since, in_files, elsewhere, low, high;
		bool replaced;
	} rows[] = {
		{"no file is known", false, 0, 0, 0, 0, 0, 0, true},
		{"no sample is elsewhere", true, 0, 0, 0, 0, 0, 0, false},
		{"four are", true, 8, 0, 0, 4, 0, 0, false},
		{"five of ten are", true, 10, 0, 0, 5, 0, 0, true},
		{"five of eleven", true, 11, 0, 0, 5, 0, 0, false},
		{"a tenth as many in files", true, 50, 50, 5, 0, 0, 0, true},
		{"fewer", true, 51, 51, 5, 0, 0, 0, false},
		{"a tenth of them before the last in a file", true, 50, 45, 50, 0, 0, 0, false},
		{"less than that", true, 50, 46, 50, 0, 0, 0, true},
		{"four since then", true, 4, 4, 50, 0, 0, 0, false},
		{"five since then", true, 5, 5, 50, 0, 0, 0, true},
		{"far apart", true, 5, 5, 0, 0, 1, 1 + FAR, true},
		{"nearer", true, 5, 5, 0, 0, 1, FAR, false},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		const struct jp_image one = {.files = rows[i].files,
					     .unmapped = rows[i].unmapped,
					     .unmapped_since = rows[i].since,
					     .in_files = rows[i].in_files,
					     .elsewhere = rows[i].elsewhere,
					     .low = rows[i].low,
					     .high = rows[i].high};

		check(jp_image_replaced(&one) == rows[i].replaced, "%s: %s", rows[i].what,
		      rows[i].replaced ? "another program" : "the same");
	}
}

int main(void)
{
	replaced();
	ranges_grow();
	the_worst_is_the_first();
	who_keeps_it_lacks_no_caller();
	each_file_for_itself();
	return check_done();
}
