// SPDX-License-Identifier: GPL-2.0-only
/* What a mapping record covers: the whole mapping that came of mmap and mremap, after merging. */
#include <errno.h>
#include <unistd.h>

#include "harness/facts/ask.h"
#include "harness/facts/test_region.h"
#include "harness/facts/tell.h"

static void map_up(struct jp_answer *answer)
{
	struct jp_watch watch;

	if (!jp_watch_code(&watch, answer))
		return;
	for (int page = 0; page < 4; page++)
		jp_test_region_map(answer, page, 1, JP_RWX);
	jp_tell_maps(answer, &watch, JP_TELL_RANGE);
}

static void map_down(struct jp_answer *answer)
{
	struct jp_watch watch;

	if (!jp_watch_code(&watch, answer))
		return;
	for (int page = 3; page >= 0; page--)
		jp_test_region_map(answer, page, 1, JP_RWX);
	jp_tell_maps(answer, &watch, JP_TELL_RANGE);
}

static void map_between(struct jp_answer *answer)
{
	struct jp_watch watch;

	if (!jp_watch_code(&watch, answer))
		return;
	jp_test_region_map(answer, 0, 1, JP_RWX);
	jp_test_region_map(answer, 2, 1, JP_RWX);
	jp_test_region_map(answer, 1, 1, JP_RWX);
	jp_tell_maps(answer, &watch, JP_TELL_RANGE);
}

static void map_locked(struct jp_answer *answer)
{
	struct jp_watch watch;

	if (!jp_watch_code(&watch, answer))
		return;
	jp_test_region_map(answer, 0, 1, JP_RWX);
	jp_test_region_map_file(answer, 1, 1, JP_RWX, MAP_PRIVATE | MAP_ANONYMOUS | MAP_LOCKED, -1,
				0);
	jp_test_region_map(answer, 2, 1, JP_RWX);
	jp_tell_maps(answer, &watch, JP_TELL_RANGE);
}

static void map_over(struct jp_answer *answer)
{
	struct jp_watch watch;

	if (!jp_watch_code(&watch, answer))
		return;
	jp_test_region_map(answer, 0, 4, JP_RX);
	jp_test_region_map(answer, 1, 1, JP_RX);
	jp_tell_maps(answer, &watch, JP_TELL_RANGE);
}

static void map_after_flip(struct jp_answer *answer, bool written)
{
	struct jp_watch watch;

	if (!jp_watch_code(&watch, answer))
		return;
	jp_test_region_map(answer, 0, 2, JP_RW);
	if (written)
		jp_test_region_write(0, 2);
	jp_test_region_protect(answer, 0, 2, JP_RX);
	jp_test_region_map(answer, 2, 2, JP_RX);
	jp_tell_maps(answer, &watch, JP_TELL_RANGE);
}

static void map_after_unwritten(struct jp_answer *answer)
{
	map_after_flip(answer, false);
}

static void map_after_written(struct jp_answer *answer)
{
	map_after_flip(answer, true);
}

static void map_in_child(struct jp_answer *answer)
{
	struct jp_watch watch;
	pid_t pid;

	if (!jp_watch_code(&watch, answer))
		return;
	jp_test_region_map(answer, 0, 2, JP_RWX);
	jp_test_region_write(0, 2);
	jp_watch_skip(&watch);
	pid = jp_fact_fork(answer);
	if (pid == 0) {
		jp_test_region_map(answer, 2, 1, JP_RWX);
		_exit(0);
	}
	jp_fact_wait(answer, pid);
	jp_test_region_map(answer, 2, 1, JP_RWX);
	jp_tell_maps(answer, &watch, JP_TELL_RANGE);
}

static void map_beside_moved(struct jp_answer *answer)
{
	size_t page = jp_test_region_page();
	struct jp_watch watch;

	if (!jp_watch_code(&watch, answer))
		return;
	jp_test_region_map(answer, 0, 2, JP_RX);
	jp_test_region_map(answer, 16, 2, JP_RX);
	if (mremap(jp_test_region_at(16), 2 * page, 2 * page, MREMAP_MAYMOVE | MREMAP_FIXED,
		   jp_test_region_at(2)) == MAP_FAILED)
		jp_answer_missing(answer, "mremap: %s", jp_answer_errno(errno));
	jp_test_region_map(answer, 4, 1, JP_RX);
	jp_tell_maps(answer, &watch, JP_TELL_RANGE);
}

/*
 * mremap has no record: what merged shows in those of an mprotect of everything. Pages that were
 * written keep the numbers that they had: only when they come back do they fit where they stood.
 */
static void remap_back(struct jp_answer *answer, bool neighbour_written)
{
	size_t page = jp_test_region_page();
	struct jp_watch watch;

	if (!jp_watch_code(&watch, answer))
		return;
	jp_test_region_map(answer, 2, 2, JP_RWX);
	jp_test_region_write(2, 2);
	if (mremap(jp_test_region_at(2), 2 * page, 2 * page, MREMAP_MAYMOVE | MREMAP_FIXED,
		   jp_test_region_at(16)) == MAP_FAILED)
		jp_answer_missing(answer, "mremap: %s", jp_answer_errno(errno));
	jp_test_region_map(answer, 0, 2, JP_RWX);
	if (neighbour_written)
		jp_test_region_write(0, 2);
	if (mremap(jp_test_region_at(16), 2 * page, 2 * page, MREMAP_MAYMOVE | MREMAP_FIXED,
		   jp_test_region_at(2)) == MAP_FAILED)
		jp_answer_missing(answer, "mremap: %s", jp_answer_errno(errno));
	jp_watch_skip(&watch);
	jp_test_region_protect(answer, 0, 4, JP_RX);
	jp_tell_maps(answer, &watch, JP_TELL_RANGE);
}

static void remap_beside_unwritten(struct jp_answer *answer)
{
	remap_back(answer, false);
}

static void remap_beside_written(struct jp_answer *answer)
{
	remap_back(answer, true);
}

static void grows_down(struct jp_answer *answer)
{
	struct jp_watch watch;

	if (!jp_watch_code(&watch, answer))
		return;
	jp_test_region_map_file(answer, 0, 1, JP_RWX, MAP_PRIVATE | MAP_ANONYMOUS | MAP_GROWSDOWN,
				-1, 0);
	jp_test_region_write(-1, 1);
	jp_test_region_write(-2, 1);
	jp_tell_maps(answer, &watch, JP_TELL_RANGE);
}

static const struct jp_fact facts[] = {
	{"merge.map.up", "Four pages are mapped rwx, each above the last; ranges of the records.",
	 map_up},
	{"merge.map.down", "Four pages are mapped rwx, each below the last; ranges of the records.",
	 map_down},
	{"merge.map.between", "Pages 0, 2, then 1 are mapped rwx; ranges of the records.",
	 map_between},
	{"merge.map.locked", "Pages 0, 1 (locked) and 2 are mapped rwx; ranges of the records.",
	 map_locked},
	{"merge.map.over",
	 "Four pages are mapped r-x, then one of them anew; ranges of the records.", map_over},
	{"merge.map.after_flip.unwritten",
	 "Two pages rw- that nobody wrote become r-x, then two are mapped r-x above; ranges of the "
	 "records.",
	 map_after_unwritten},
	{"merge.map.after_flip.written",
	 "Two written pages rw- become r-x, then two are mapped r-x above; ranges.",
	 map_after_written},
	{"merge.map.in_child",
	 "Beside two written rwx pages a forked child, then its parent maps a third; range of each "
	 "one's record.",
	 map_in_child},
	{"merge.map.beside_moved",
	 "r-x pages are moved by mremap above others, then one is mapped above both; ranges of the "
	 "records.",
	 map_beside_moved},
	{"merge.remap.beside_unwritten",
	 "Written pages rwx are moved away by mremap and back, above pages that nobody wrote and "
	 "that came meanwhile; ranges of the records when all become r-x.",
	 remap_beside_unwritten},
	{"merge.remap.beside_written", "The same above pages that were written, too.",
	 remap_beside_written},
	{"merge.grows_down",
	 "A page is mapped rwx with MAP_GROWSDOWN and grows by two faults; ranges.", grows_down},
};
static const struct jp_fact_family merge = {"merge", facts, sizeof(facts) / sizeof(facts[0])};
JP_REGISTER(fact, merge);
