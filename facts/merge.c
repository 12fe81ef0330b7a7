// SPDX-License-Identifier: GPL-2.0-only
/* What a mapping record covers: the whole mapping that came of an act, after merging. */
#include <errno.h>
#include <linux/userfaultfd.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "facts/ask.h"
#include "facts/plot.h"
#include "facts/tell.h"

static void map_up(struct jp_answer *answer)
{
	struct jp_watch watch;

	if (!jp_watch_code(&watch, answer))
		return;
	for (int page = 0; page < 4; page++)
		jp_plot_map(answer, page, 1, JP_RWX);
	jp_tell_maps(answer, &watch, JP_TELL_RANGE);
}

static const struct jp_fact merge_map_up = {
	.name = "merge.map.up",
	.about = "Four pages are mapped rwx, each above the last; ranges of the records.",
	.probe = map_up,
};
JP_REGISTER(fact, merge_map_up);

static void map_down(struct jp_answer *answer)
{
	struct jp_watch watch;

	if (!jp_watch_code(&watch, answer))
		return;
	for (int page = 3; page >= 0; page--)
		jp_plot_map(answer, page, 1, JP_RWX);
	jp_tell_maps(answer, &watch, JP_TELL_RANGE);
}

static const struct jp_fact merge_map_down = {
	.name = "merge.map.down",
	.about = "Four pages are mapped rwx, each below the last; ranges of the records.",
	.probe = map_down,
};
JP_REGISTER(fact, merge_map_down);

static void map_between(struct jp_answer *answer)
{
	struct jp_watch watch;

	if (!jp_watch_code(&watch, answer))
		return;
	jp_plot_map(answer, 0, 1, JP_RWX);
	jp_plot_map(answer, 2, 1, JP_RWX);
	jp_plot_map(answer, 1, 1, JP_RWX);
	jp_tell_maps(answer, &watch, JP_TELL_RANGE);
}

static const struct jp_fact merge_map_between = {
	.name = "merge.map.between",
	.about = "Pages 0, 2, then 1 are mapped rwx; ranges of the records.",
	.probe = map_between,
};
JP_REGISTER(fact, merge_map_between);

static void map_locked(struct jp_answer *answer)
{
	struct jp_watch watch;

	if (!jp_watch_code(&watch, answer))
		return;
	jp_plot_map(answer, 0, 1, JP_RWX);
	jp_plot_map_file(answer, 1, 1, JP_RWX, MAP_PRIVATE | MAP_ANONYMOUS | MAP_LOCKED, -1, 0);
	jp_plot_map(answer, 2, 1, JP_RWX);
	jp_tell_maps(answer, &watch, JP_TELL_RANGE);
}

static const struct jp_fact merge_map_locked = {
	.name = "merge.map.locked",
	.about = "Pages 0, 1 (locked) and 2 are mapped rwx; ranges of the records.",
	.probe = map_locked,
};
JP_REGISTER(fact, merge_map_locked);

static void map_over(struct jp_answer *answer)
{
	struct jp_watch watch;

	if (!jp_watch_code(&watch, answer))
		return;
	jp_plot_map(answer, 0, 4, JP_RX);
	jp_plot_map(answer, 1, 1, JP_RX);
	jp_tell_maps(answer, &watch, JP_TELL_RANGE);
}

static const struct jp_fact merge_map_over = {
	.name = "merge.map.over",
	.about = "Four pages are mapped r-x, then one of them anew; ranges of the records.",
	.probe = map_over,
};
JP_REGISTER(fact, merge_map_over);

static void flip_parts(struct jp_answer *answer)
{
	struct jp_watch watch;

	if (!jp_watch_code(&watch, answer))
		return;
	jp_plot_map(answer, 0, 10, JP_RW);
	jp_plot_protect(answer, 4, 2, JP_RX);
	jp_plot_protect(answer, 6, 2, JP_RX);
	jp_plot_protect(answer, 2, 2, JP_RX);
	jp_tell_maps(answer, &watch, JP_TELL_RANGE);
}

static const struct jp_fact merge_flip_parts = {
	.name = "merge.flip.parts",
	.about = "Of ten pages rw-, pages 4-5, 6-7 and 2-3 become r-x; ranges of the records.",
	.probe = flip_parts,
};
JP_REGISTER(fact, merge_flip_parts);

static void flip_up(struct jp_answer *answer)
{
	struct jp_watch watch;

	if (!jp_watch_code(&watch, answer))
		return;
	for (int page = 0; page < 4; page++) {
		jp_plot_map(answer, page, 1, JP_RW);
		jp_plot_write(page, 1);
		jp_plot_protect(answer, page, 1, JP_RX);
	}
	jp_tell_maps(answer, &watch, JP_TELL_RANGE);
}

static const struct jp_fact merge_flip_up = {
	.name = "merge.flip.up",
	.about = "Four times a page is mapped rw- above the last, written and made r-x; ranges.",
	.probe = flip_up,
};
JP_REGISTER(fact, merge_flip_up);

static void flip_reserved(struct jp_answer *answer)
{
	struct jp_watch watch;

	if (!jp_watch_code(&watch, answer))
		return;
	jp_plot_map(answer, 0, 8, PROT_NONE);
	for (int page = 0; page < 4; page++) {
		jp_plot_protect(answer, page, 1, JP_RW);
		jp_plot_write(page, 1);
		jp_plot_protect(answer, page, 1, JP_RX);
	}
	jp_tell_maps(answer, &watch, JP_TELL_RANGE);
}

static const struct jp_fact merge_flip_reserved = {
	.name = "merge.flip.reserved",
	.about = "In a reservation (PROT_NONE) page after page becomes rw-, is written, becomes "
		 "r-x; ranges of the records.",
	.probe = flip_reserved,
};
JP_REGISTER(fact, merge_flip_reserved);

static void flip_written_above(struct jp_answer *answer)
{
	struct jp_watch watch;

	if (!jp_watch_code(&watch, answer))
		return;
	jp_plot_map(answer, 0, 2, JP_RWX);
	jp_plot_map(answer, 2, 2, JP_RW);
	jp_plot_write(2, 2);
	jp_plot_protect(answer, 2, 2, JP_RWX);
	jp_tell_maps(answer, &watch, JP_TELL_RANGE);
}

static const struct jp_fact merge_flip_written_above = {
	.name = "merge.flip.written_above",
	.about = "Two written pages rw- become rwx above two rwx that nobody wrote; ranges of the "
		 "records.",
	.probe = flip_written_above,
};
JP_REGISTER(fact, merge_flip_written_above);

static void flip_written_below(struct jp_answer *answer)
{
	struct jp_watch watch;

	if (!jp_watch_code(&watch, answer))
		return;
	jp_plot_map(answer, 2, 2, JP_RWX);
	jp_plot_map(answer, 0, 2, JP_RW);
	jp_plot_write(0, 2);
	jp_plot_protect(answer, 0, 2, JP_RWX);
	jp_tell_maps(answer, &watch, JP_TELL_RANGE);
}

static const struct jp_fact merge_flip_written_below = {
	.name = "merge.flip.written_below",
	.about = "Two written pages rw- become rwx below two rwx that nobody wrote; ranges.",
	.probe = flip_written_below,
};
JP_REGISTER(fact, merge_flip_written_below);

static void flip_written_between(struct jp_answer *answer)
{
	struct jp_watch watch;

	if (!jp_watch_code(&watch, answer))
		return;
	jp_plot_map(answer, 0, 2, JP_RWX);
	jp_plot_map(answer, 4, 2, JP_RWX);
	jp_plot_map(answer, 2, 2, JP_RW);
	jp_plot_write(2, 2);
	jp_plot_protect(answer, 2, 2, JP_RWX);
	jp_tell_maps(answer, &watch, JP_TELL_RANGE);
}

static const struct jp_fact merge_flip_written_between = {
	.name = "merge.flip.written_between",
	.about = "Two written pages rw- become rwx between rwx pages that nobody wrote; ranges.",
	.probe = flip_written_between,
};
JP_REGISTER(fact, merge_flip_written_between);

static void flip_unwritten_below_written(struct jp_answer *answer)
{
	struct jp_watch watch;

	if (!jp_watch_code(&watch, answer))
		return;
	jp_plot_map(answer, 0, 2, JP_RWX);
	jp_plot_write(0, 2);
	jp_plot_map(answer, 2, 2, JP_RW);
	jp_plot_protect(answer, 2, 2, JP_RWX);
	jp_tell_maps(answer, &watch, JP_TELL_RANGE);
}

static const struct jp_fact merge_flip_unwritten_above_written = {
	.name = "merge.flip.unwritten_above_written",
	.about = "Two pages rw- that nobody wrote become rwx above two written rwx pages; ranges.",
	.probe = flip_unwritten_below_written,
};
JP_REGISTER(fact, merge_flip_unwritten_above_written);

static void map_after_flip(struct jp_answer *answer, bool written)
{
	struct jp_watch watch;

	if (!jp_watch_code(&watch, answer))
		return;
	jp_plot_map(answer, 0, 2, JP_RW);
	if (written)
		jp_plot_write(0, 2);
	jp_plot_protect(answer, 0, 2, JP_RX);
	jp_plot_map(answer, 2, 2, JP_RX);
	jp_tell_maps(answer, &watch, JP_TELL_RANGE);
}

static void map_after_unwritten(struct jp_answer *answer)
{
	map_after_flip(answer, false);
}

static const struct jp_fact merge_map_after_unwritten = {
	.name = "merge.map.after_flip.unwritten",
	.about =
		"Two pages rw- that nobody wrote become r-x, then two are mapped r-x above; ranges "
		"of the records.",
	.probe = map_after_unwritten,
};
JP_REGISTER(fact, merge_map_after_unwritten);

static void map_after_written(struct jp_answer *answer)
{
	map_after_flip(answer, true);
}

static const struct jp_fact merge_map_after_written = {
	.name = "merge.map.after_flip.written",
	.about = "Two written pages rw- become r-x, then two are mapped r-x above; ranges.",
	.probe = map_after_written,
};
JP_REGISTER(fact, merge_map_after_written);

static void flip_three(struct jp_answer *answer)
{
	struct jp_watch watch;

	if (!jp_watch_code(&watch, answer))
		return;
	jp_plot_map(answer, 0, 2, JP_RW);
	jp_plot_map(answer, 2, 2, PROT_READ);
	jp_plot_map(answer, 4, 2, JP_RW);
	jp_plot_protect(answer, 0, 6, JP_RX);
	jp_tell_maps(answer, &watch, JP_TELL_RANGE);
}

static const struct jp_fact merge_flip_three = {
	.name = "merge.flip.three",
	.about = "One mprotect makes three neighbours rw-, r--, rw- r-x; ranges of the records.",
	.probe = flip_three,
};
JP_REGISTER(fact, merge_flip_three);

static void map_in_child(struct jp_answer *answer)
{
	struct jp_watch watch;
	pid_t pid;

	if (!jp_watch_code(&watch, answer))
		return;
	jp_plot_map(answer, 0, 2, JP_RWX);
	jp_plot_write(0, 2);
	jp_watch_skip(&watch);
	pid = jp_fact_fork(answer);
	if (pid == 0) {
		jp_plot_map(answer, 2, 1, JP_RWX);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
	jp_plot_map(answer, 2, 1, JP_RWX);
	jp_tell_maps(answer, &watch, JP_TELL_RANGE);
}

static const struct jp_fact merge_map_in_child = {
	.name = "merge.map.in_child",
	.about = "Beside two written rwx pages a forked child, then its parent maps a third; range "
		 "of each one's record.",
	.probe = map_in_child,
};
JP_REGISTER(fact, merge_map_in_child);

static void map_beside_moved(struct jp_answer *answer)
{
	size_t page = jp_plot_page();
	struct jp_watch watch;

	if (!jp_watch_code(&watch, answer))
		return;
	jp_plot_map(answer, 0, 2, JP_RX);
	jp_plot_map(answer, 16, 2, JP_RX);
	if (mremap(jp_plot_at(16), 2 * page, 2 * page, MREMAP_MAYMOVE | MREMAP_FIXED,
		   jp_plot_at(2)) == MAP_FAILED)
		jp_answer_missing(answer, "mremap: %s", jp_answer_errno(errno));
	jp_plot_map(answer, 4, 1, JP_RX);
	jp_tell_maps(answer, &watch, JP_TELL_RANGE);
}

static const struct jp_fact merge_map_beside_moved = {
	.name = "merge.map.beside_moved",
	.about =
		"r-x pages are moved by mremap above others, then one is mapped above both; ranges "
		"of the records.",
	.probe = map_beside_moved,
};
JP_REGISTER(fact, merge_map_beside_moved);

static void grows_down(struct jp_answer *answer)
{
	struct jp_watch watch;

	if (!jp_watch_code(&watch, answer))
		return;
	jp_plot_map_file(answer, 0, 1, JP_RWX, MAP_PRIVATE | MAP_ANONYMOUS | MAP_GROWSDOWN, -1, 0);
	jp_plot_write(-1, 1);
	jp_plot_write(-2, 1);
	jp_tell_maps(answer, &watch, JP_TELL_RANGE);
}

static const struct jp_fact merge_grows_down = {
	.name = "merge.grows_down",
	.about = "A page is mapped rwx with MAP_GROWSDOWN and grows by two faults; ranges.",
	.probe = grows_down,
};
JP_REGISTER(fact, merge_grows_down);

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
	jp_plot_map(answer, 0, 6, JP_RW);
	part.range.start = (uint64_t)(uintptr_t)jp_plot_at(2);
	part.range.len = 2 * jp_plot_page();
	if (fd >= 0 && (ioctl(fd, UFFDIO_API, &api) || ioctl(fd, UFFDIO_REGISTER, &part)))
		jp_answer_missing(answer, "UFFDIO_REGISTER: %s", jp_answer_errno(errno));
	jp_plot_protect(answer, 0, 6, JP_RX);
	jp_tell_maps(answer, &watch, JP_TELL_RANGE);
}

static const struct jp_fact merge_flip_userfault = {
	.name = "merge.flip.userfault",
	.about = "One mprotect makes six pages r-x of which two in the middle are userfaultfd's; "
		 "ranges of the records.",
	.probe = flip_over_userfault,
};
JP_REGISTER(fact, merge_flip_userfault);
