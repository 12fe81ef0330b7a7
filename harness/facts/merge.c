// SPDX-License-Identifier: GPL-2.0-only
/* Facts about the range in a mapping record, which is that of the whole mapping after mmap,
 * mprotect or mremap, merged with its neighbours. */
#include <linux/userfaultfd.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "harness/facts/probe_fact.h"
#include "harness/facts/test_region.h"
#include "harness/facts/state_maps.h"

static void map_in_child(struct jp_answer *answer, struct jp_watch *watch)
{
	pid_t pid;

	jp_test_region_map(answer, 0, 2, JP_RWX);
	jp_test_region_write(0, 2);
	jp_watch_skip(watch);
	pid = jp_fact_fork(answer);
	if (pid == 0) {
		jp_test_region_map(answer, 2, 1, JP_RWX);
		_exit(0);
	}
	jp_fact_wait(answer, pid);
	jp_test_region_map(answer, 2, 1, JP_RWX);
	jp_answer_maps(answer, watch, JP_FIELDS_RANGE);
}

static void protect_pages_over_userfault(struct jp_answer *answer, struct jp_watch *watch)
{
	struct uffdio_register part = {.mode = UFFDIO_REGISTER_MODE_MISSING};
	struct uffdio_api api = {.api = UFFD_API};
	int fd = (int)syscall(SYS_userfaultfd, 0);

	if (fd < 0)
		jp_answer_failed(answer, "userfaultfd");
	jp_test_region_map(answer, 0, 6, JP_RW);
	part.range.start = (uint64_t)(uintptr_t)jp_test_region_at(2);
	part.range.len = 2 * jp_test_region_page();
	if (fd >= 0 && (ioctl(fd, UFFDIO_API, &api) || ioctl(fd, UFFDIO_REGISTER, &part)))
		jp_answer_failed(answer, "UFFDIO_REGISTER");
	jp_test_region_protect(answer, 0, 6, JP_RX);
	jp_answer_maps(answer, watch, JP_FIELDS_RANGE);
}

static const struct jp_fact facts[] = {
	{"merge.map.up", "Four pages are mapped rwx, each above the last; ranges of the records.",
	 .acts = "map 0+1 rwx; map 1+1 rwx; map 2+1 rwx; map 3+1 rwx; report range"},
	{"merge.map.down", "Four pages are mapped rwx, each below the last; ranges of the records.",
	 .acts = "map 3+1 rwx; map 2+1 rwx; map 1+1 rwx; map 0+1 rwx; report range"},
	{"merge.map.between", "Pages 0, 2, then 1 are mapped rwx; ranges of the records.",
	 .acts = "map 0+1 rwx; map 2+1 rwx; map 1+1 rwx; report range"},
	{"merge.map.locked", "Pages 0, 1 (locked) and 2 are mapped rwx; ranges of the records.",
	 .acts = "map 0+1 rwx; locked 1+1 rwx; map 2+1 rwx; report range"},
	{"merge.map.over",
	 "Four pages are mapped r-x, then one of them is mapped again; ranges of the records.",
	 .acts = "map 0+4 rx; map 1+1 rx; report range"},
	{"merge.map.after_flip.unwritten",
	 "Two unwritten rw- pages become r-x, then two pages are mapped r-x above them; ranges "
	 "of the records.",
	 .acts = "map 0+2 rw; protect 0+2 rx; map 2+2 rx; report range"},
	{"merge.map.after_flip.written",
	 "Two written rw- pages become r-x, then two pages are mapped r-x above them; ranges of "
	 "the records.",
	 .acts = "map 0+2 rw; write 0+2; protect 0+2 rx; map 2+2 rx; report range"},
	{"merge.map.in_child",
	 "A forked child maps a page beside two written rwx pages, then its parent does; range "
	 "of each record.",
	 .watched = map_in_child},
	{"merge.map.beside_moved",
	 "mremap moves r-x pages above others, then a page is mapped above both; ranges of the "
	 "records.",
	 .acts = "map 0+2 rx; map 16+2 rx; move 16+2 2; map 4+1 rx; report range"},
	/* mremap() causes no record, so an mprotect of all pages makes the merged mappings visible.
	 * Written pages keep their offsets, so they merge only once they are moved back. */
	{"merge.remap.beside_unwritten",
	 "mremap moves written rwx pages away and back, above unwritten pages that were mapped "
	 "meanwhile; ranges of the records when all become r-x.",
	 .acts = "map 2+2 rwx; write 2+2; move 2+2 16; map 0+2 rwx; move 16+2 2; forget; protect "
		 "0+4 rx; report range"},
	{"merge.remap.beside_written",
	 "mremap moves written rwx pages away and back, above written pages that were mapped "
	 "meanwhile; ranges of the records when all become r-x.",
	 .acts = "map 2+2 rwx; write 2+2; move 2+2 16; map 0+2 rwx; write 0+2; move 16+2 2; "
		 "forget; protect 0+4 rx; report range"},
	{"merge.grows_down",
	 "A page is mapped rwx with MAP_GROWSDOWN and grows by two faults; ranges of the "
	 "records.",
	 .acts = "grows-down 0+1 rwx; write -1+1; write -2+1; report range"},
	{"merge.flip.parts",
	 "Of ten pages rw-, pages 4-5, 6-7 and 2-3 become r-x; ranges of the records.",
	 .acts = "map 0+10 rw; protect 4+2 rx; protect 6+2 rx; protect 2+2 rx; report range"},
	{"merge.flip.up",
	 "Four times a page is mapped rw- above the last, written and made r-x; ranges of the "
	 "records.",
	 .acts = "map 0+1 rw; write 0+1; protect 0+1 rx; map 1+1 rw; write 1+1; protect 1+1 rx; "
		 "map 2+1 rw; write 2+1; protect 2+1 rx; map 3+1 rw; write 3+1; protect 3+1 rx; "
		 "report range"},
	{"merge.flip.reserved",
	 "In a reservation (PROT_NONE) page after page becomes rw-, is written, becomes r-x; "
	 "ranges of the records.",
	 .acts = "map 0+8 none; protect 0+1 rw; write 0+1; protect 0+1 rx; protect 1+1 rw; write "
		 "1+1; protect 1+1 rx; protect 2+1 rw; write 2+1; protect 2+1 rx; protect 3+1 rw; "
		 "write 3+1; protect 3+1 rx; report range"},
	{"merge.flip.written_above",
	 "Two written rw- pages become rwx above two unwritten rwx pages; ranges of the "
	 "records.",
	 .acts = "map 0+2 rwx; map 2+2 rw; write 2+2; protect 2+2 rwx; report range"},
	{"merge.flip.written_below",
	 "Two written rw- pages become rwx below two unwritten rwx pages; ranges of the "
	 "records.",
	 .acts = "map 2+2 rwx; map 0+2 rw; write 0+2; protect 0+2 rwx; report range"},
	{"merge.flip.written_between",
	 "Two written rw- pages become rwx between unwritten rwx pages; ranges of the records.",
	 .acts = "map 0+2 rwx; map 4+2 rwx; map 2+2 rw; write 2+2; protect 2+2 rwx; report range"},
	{"merge.flip.unwritten_above_written",
	 "Two unwritten rw- pages become rwx above two written rwx pages; ranges of the "
	 "records.",
	 .acts = "map 0+2 rwx; write 0+2; map 2+2 rw; protect 2+2 rwx; report range"},
	{"merge.flip.three",
	 "One mprotect makes three neighbours (rw-, r--, rw-) r-x; ranges of the records.",
	 .acts = "map 0+2 rw; map 2+2 r; map 4+2 rw; protect 0+6 rx; report range"},
	{"merge.flip.userfault",
	 "One mprotect makes six pages r-x; the middle two belong to a userfaultfd; "
	 "ranges of the records.",
	 .watched = protect_pages_over_userfault},
};
JP_REGISTER_ROWS(fact, facts);
