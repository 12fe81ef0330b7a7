// SPDX-License-Identifier: GPL-2.0-only
/* Tests blaming the code in which the kernel's walk ends, from counted ends. */
#include "harness/explain/blame.h"
#include "harness/explain/culprits.h"
#include "harness/selftest/support/check.h"

static struct jp_image image = {.pid = 7, .files = true, .libc = true};

static struct jp_end make_end(enum jp_end_kind kind, uint64_t addr, uint64_t samples)
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

/* Of ends with equally many samples the first is shown, so that the output is stable. */
TEST(worst_end)
{
	struct jp_end list[] = {
		make_end(JP_END_SINGLE, 0x5010, 4), make_end(JP_END_SINGLE, 0x2010, 9),
		make_end(JP_END_HERE, 0x3010, 9),   make_end(JP_END_LEAF, 0x4010, 6),
		make_end(JP_END_LEAF, 0x1010, 6),
	};
	struct jp_ends ends = {.list = list, .count = sizeof(list) / sizeof(*list)};
	struct jp_culprits culprits;
	const struct jp_culprit *one;

	if (!check(jp_culprits_find(&ends, &culprits) == 0 && culprits.count == 1,
		   "ends in one file have one culprit"))
		return;
	one = &culprits.list[0];
	check(one->worst == &list[1], "the worst place is the first with most ends");
	check(one->leaf == &list[3], "the leaf is the first with most missing callers");
	check(one->broken == 22 && one->single == 13 && one->no_caller == 12 && one->passing == 12,
	      "samples are summed by kind: %d %d %d %d", (int)one->broken, (int)one->single,
	      (int)one->no_caller, (int)one->passing);
	check(one->start == 0x1000 && one->end == 0x6000, "the range spans all its mappings");
	jp_culprits_free(&culprits);
}

TEST(separate_culprits)
{
	struct jp_image other = {.pid = 8, .files = true, .libc = true};
	struct jp_end list[] = {make_end(JP_END_SINGLE, 0x1010, 1),
				make_end(JP_END_SINGLE, 0x1010, 2),
				make_end(JP_END_SINGLE, 0x1010, 4)};
	struct jp_ends ends = {.list = list, .count = 3};
	struct jp_culprits culprits;

	list[1].file = "/lib/other.so";
	list[2].image = &other;
	check(jp_culprits_find(&ends, &culprits) == 0 && culprits.count == 3 &&
		      culprits.list[0].broken == 1 && culprits.list[1].broken == 2 &&
		      culprits.list[2].broken == 4,
	      "another file or process is another culprit");
	jp_culprits_free(&culprits);
}

/* A loader such as PRoot's maps a static program, whose chains end in garbage of its start. */
TEST(static_program_of_a_loader)
{
	struct jp_image alone = {.pid = 9, .files = true};
	struct jp_end list[] = {make_end(JP_END_HERE, 0x1010, 9), make_end(JP_END_HERE, 0x1010, 9)};
	struct jp_ends ends = {.list = list, .count = 2};
	struct jp_culprits culprits;

	list[1].image = &alone;
	check(jp_culprits_find(&ends, &culprits) == 0 && culprits.count == 1 &&
		      culprits.list[0].image == &image,
	      "a chain may end in a file of a process without a libc");
	jp_culprits_free(&culprits);
}

TEST(culprits_by_range)
{
	struct jp_blame blame = {.nr_ranges = 0};

	jp_blame_range(&blame, 0x1000, 0x2000);
	jp_blame_range(&blame, 0x5000, 0x6000);
	jp_blame_range(&blame, 0x6000, 0x7000);
	check(blame.nr_ranges == 2 && blame.ranges[1].start == 0x5000 &&
		      blame.ranges[1].end == 0x7000,
	      "an adjacent range extends the second of %d ranges", (int)blame.nr_ranges);
}

#define FAR (UINT64_C(1) << 40)

/* Tests how samples in no mapping reveal an exec without a record. */
TEST(replaced_programs)
{
	static const struct {
		const char *what;
		bool files;
		uint64_t unmapped, since, in_files, elsewhere, low, high;
		bool replaced;
	} rows[] = {
		{"no file is mapped", false, 0, 0, 0, 0, 0, 0, true},
		{"no sample is elsewhere", true, 0, 0, 0, 0, 0, 0, false},
		{"4 of 8 samples are elsewhere", true, 8, 0, 0, 4, 0, 0, false},
		{"5 of 10 samples are elsewhere", true, 10, 0, 0, 5, 0, 0, true},
		{"5 of 11 samples are elsewhere", true, 11, 0, 0, 5, 0, 0, false},
		{"50 are unmapped, 5 in files", true, 50, 50, 5, 0, 0, 0, true},
		{"51 are unmapped, 5 in files", true, 51, 51, 5, 0, 0, 0, false},
		{"5 of 50 come before the last in a file", true, 50, 45, 50, 0, 0, 0, false},
		{"4 of 50 come before the last in a file", true, 50, 46, 50, 0, 0, 0, true},
		{"4 come after the last in a file", true, 4, 4, 50, 0, 0, 0, false},
		{"5 come after the last in a file", true, 5, 5, 50, 0, 0, 0, true},
		{"unmapped samples 2^40 bytes apart", true, 5, 5, 0, 0, 1, 1 + FAR, true},
		{"unmapped samples closer together", true, 5, 5, 0, 0, 1, FAR, false},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		const struct jp_image one = {.files = rows[i].files,
					     .unmapped = rows[i].unmapped,
					     .unmapped_since = rows[i].since,
					     .in_files = rows[i].in_files,
					     .elsewhere = rows[i].elsewhere,
					     .low = rows[i].low,
					     .high = rows[i].high};

		check(jp_image_was_replaced(&one) == rows[i].replaced, "%s: %s", rows[i].what,
		      rows[i].replaced ? "replaced" : "the same program");
	}
}
