// SPDX-License-Identifier: GPL-2.0-only
/* What a mapping record covers when mprotect makes memory executable: all that merges with it. */
#include <errno.h>
#include <linux/userfaultfd.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "harness/facts/test_region.h"
#include "harness/facts/tell.h"

static void flip_parts(struct jp_answer *answer)
{
	struct jp_watch watch;

	if (!jp_watch_code(&watch, answer))
		return;
	jp_test_region_map(answer, 0, 10, JP_RW);
	jp_test_region_protect(answer, 4, 2, JP_RX);
	jp_test_region_protect(answer, 6, 2, JP_RX);
	jp_test_region_protect(answer, 2, 2, JP_RX);
	jp_tell_maps(answer, &watch, JP_TELL_RANGE);
}

static void flip_up(struct jp_answer *answer)
{
	struct jp_watch watch;

	if (!jp_watch_code(&watch, answer))
		return;
	for (int page = 0; page < 4; page++) {
		jp_test_region_map(answer, page, 1, JP_RW);
		jp_test_region_write(page, 1);
		jp_test_region_protect(answer, page, 1, JP_RX);
	}
	jp_tell_maps(answer, &watch, JP_TELL_RANGE);
}

static void flip_reserved(struct jp_answer *answer)
{
	struct jp_watch watch;

	if (!jp_watch_code(&watch, answer))
		return;
	jp_test_region_map(answer, 0, 8, PROT_NONE);
	for (int page = 0; page < 4; page++) {
		jp_test_region_protect(answer, page, 1, JP_RW);
		jp_test_region_write(page, 1);
		jp_test_region_protect(answer, page, 1, JP_RX);
	}
	jp_tell_maps(answer, &watch, JP_TELL_RANGE);
}

static void flip_written_above(struct jp_answer *answer)
{
	struct jp_watch watch;

	if (!jp_watch_code(&watch, answer))
		return;
	jp_test_region_map(answer, 0, 2, JP_RWX);
	jp_test_region_map(answer, 2, 2, JP_RW);
	jp_test_region_write(2, 2);
	jp_test_region_protect(answer, 2, 2, JP_RWX);
	jp_tell_maps(answer, &watch, JP_TELL_RANGE);
}

static void flip_written_below(struct jp_answer *answer)
{
	struct jp_watch watch;

	if (!jp_watch_code(&watch, answer))
		return;
	jp_test_region_map(answer, 2, 2, JP_RWX);
	jp_test_region_map(answer, 0, 2, JP_RW);
	jp_test_region_write(0, 2);
	jp_test_region_protect(answer, 0, 2, JP_RWX);
	jp_tell_maps(answer, &watch, JP_TELL_RANGE);
}

static void flip_written_between(struct jp_answer *answer)
{
	struct jp_watch watch;

	if (!jp_watch_code(&watch, answer))
		return;
	jp_test_region_map(answer, 0, 2, JP_RWX);
	jp_test_region_map(answer, 4, 2, JP_RWX);
	jp_test_region_map(answer, 2, 2, JP_RW);
	jp_test_region_write(2, 2);
	jp_test_region_protect(answer, 2, 2, JP_RWX);
	jp_tell_maps(answer, &watch, JP_TELL_RANGE);
}

static void flip_unwritten_below_written(struct jp_answer *answer)
{
	struct jp_watch watch;

	if (!jp_watch_code(&watch, answer))
		return;
	jp_test_region_map(answer, 0, 2, JP_RWX);
	jp_test_region_write(0, 2);
	jp_test_region_map(answer, 2, 2, JP_RW);
	jp_test_region_protect(answer, 2, 2, JP_RWX);
	jp_tell_maps(answer, &watch, JP_TELL_RANGE);
}

static void flip_three(struct jp_answer *answer)
{
	struct jp_watch watch;

	if (!jp_watch_code(&watch, answer))
		return;
	jp_test_region_map(answer, 0, 2, JP_RW);
	jp_test_region_map(answer, 2, 2, PROT_READ);
	jp_test_region_map(answer, 4, 2, JP_RW);
	jp_test_region_protect(answer, 0, 6, JP_RX);
	jp_tell_maps(answer, &watch, JP_TELL_RANGE);
}

static void flip_over_userfault(struct jp_answer *answer)
{
	struct uffdio_register part = {.mode = UFFDIO_REGISTER_MODE_MISSING};
	struct uffdio_api api = {.api = UFFD_API};
	struct jp_watch watch;
	int fd = (int)syscall(SYS_userfaultfd, 0);

	if (fd < 0)
		jp_answer_missing(answer, "userfaultfd: %s", jp_answer_errno(errno));
	if (!jp_watch_code(&watch, answer))
		return;
	jp_test_region_map(answer, 0, 6, JP_RW);
	part.range.start = (uint64_t)(uintptr_t)jp_test_region_at(2);
	part.range.len = 2 * jp_test_region_page();
	if (fd >= 0 && (ioctl(fd, UFFDIO_API, &api) || ioctl(fd, UFFDIO_REGISTER, &part)))
		jp_answer_missing(answer, "UFFDIO_REGISTER: %s", jp_answer_errno(errno));
	jp_test_region_protect(answer, 0, 6, JP_RX);
	jp_tell_maps(answer, &watch, JP_TELL_RANGE);
}

static const struct jp_fact facts[] = {
	{"merge.flip.parts",
	 "Of ten pages rw-, pages 4-5, 6-7 and 2-3 become r-x; ranges of the records.", flip_parts},
	{"merge.flip.up",
	 "Four times a page is mapped rw- above the last, written and made r-x; ranges.", flip_up},
	{"merge.flip.reserved",
	 "In a reservation (PROT_NONE) page after page becomes rw-, is written, becomes r-x; "
	 "ranges of the records.",
	 flip_reserved},
	{"merge.flip.written_above",
	 "Two written pages rw- become rwx above two rwx that nobody wrote; ranges of the records.",
	 flip_written_above},
	{"merge.flip.written_below",
	 "Two written pages rw- become rwx below two rwx that nobody wrote; ranges.",
	 flip_written_below},
	{"merge.flip.written_between",
	 "Two written pages rw- become rwx between rwx pages that nobody wrote; ranges.",
	 flip_written_between},
	{"merge.flip.unwritten_above_written",
	 "Two pages rw- that nobody wrote become rwx above two written rwx pages; ranges.",
	 flip_unwritten_below_written},
	{"merge.flip.three",
	 "One mprotect makes three neighbours rw-, r--, rw- r-x; ranges of the records.",
	 flip_three},
	{"merge.flip.userfault",
	 "One mprotect makes six pages r-x of which two in the middle are userfaultfd's; ranges of "
	 "the records.",
	 flip_over_userfault},
};
static const struct jp_fact_family merge_flips = {"merge_flips", facts,
						  sizeof(facts) / sizeof(facts[0])};
JP_REGISTER(fact, merge_flips);
