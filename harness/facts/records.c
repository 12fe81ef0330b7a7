// SPDX-License-Identifier: GPL-2.0-only
/* Which acts have a mapping record, and what is in it. */
#include <errno.h>
#include <pthread.h>
#include <sys/ioctl.h>
#include <sys/personality.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "harness/facts/ask.h"
#include "harness/facts/test_region.h"
#include "harness/facts/tell.h"

static void map_rx(struct jp_answer *answer)
{
	struct jp_watch watch;

	if (!jp_watch_code(&watch, answer))
		return;
	jp_test_region_map(answer, 0, 4, JP_RX);
	jp_tell_maps(answer, &watch, JP_TELL_ALL);
}

static void map_locked(struct jp_answer *answer)
{
	struct jp_watch watch;

	if (!jp_watch_code(&watch, answer))
		return;
	jp_test_region_map_file(answer, 0, 1, JP_RX, MAP_PRIVATE | MAP_ANONYMOUS | MAP_LOCKED, -1,
				0);
	jp_tell_maps(answer, &watch, JP_TELL_ALL);
}

static void map_exec_only(struct jp_answer *answer)
{
	struct jp_watch watch;

	if (!jp_watch_code(&watch, answer))
		return;
	jp_test_region_map(answer, 0, 1, PROT_EXEC);
	jp_tell_maps(answer, &watch, JP_TELL_PROT);
}

static void read_implies(struct jp_answer *answer)
{
	struct jp_watch watch;

	if (personality(ADDR_NO_RANDOMIZE | READ_IMPLIES_EXEC) < 0)
		jp_answer_missing(answer, "personality: %s", jp_answer_errno(errno));
	if (!jp_watch_code(&watch, answer))
		return;
	jp_test_region_map(answer, 0, 1, PROT_READ);
	jp_tell_maps(answer, &watch, JP_TELL_PROT);
}

static void flip_same(struct jp_answer *answer)
{
	struct jp_watch watch;

	if (!jp_watch_code(&watch, answer))
		return;
	jp_test_region_map(answer, 0, 2, JP_RX);
	jp_watch_skip(&watch);
	jp_test_region_protect(answer, 0, 2, JP_RX);
	jp_tell_maps(answer, &watch, JP_TELL_PROT);
}

static void toggle(struct jp_answer *answer)
{
	struct jp_watch watch;

	if (!jp_watch_code(&watch, answer))
		return;
	jp_test_region_map(answer, 0, 4, JP_RX);
	jp_watch_skip(&watch);
	for (int i = 0; i < 2; i++) {
		jp_test_region_protect(answer, 1, 1, JP_RW);
		jp_test_region_write(1, 1);
		jp_test_region_protect(answer, 1, 1, JP_RX);
	}
	jp_tell_maps(answer, &watch, JP_TELL_PROT);
}

static void take_away(struct jp_answer *answer)
{
	struct perf_event_attr attr = jp_watch_sideband();
	static struct jp_seen seen;
	struct jp_watch watch;

	jp_attr_set(&attr, JP_ATTR_MMAP_DATA);
	if (!jp_watch_open(&watch, &attr, 16, answer))
		return;
	jp_test_region_map(answer, 0, 1, JP_RX);
	jp_watch_skip(&watch);
	jp_test_region_protect(answer, 0, 1, JP_RW);
	jp_answer_list(answer);
	while (jp_watch_next(&watch, &seen))
		jp_answer_text(answer, "record %u misc %#x", seen.header.type, seen.header.misc);
}

static void unmapped(struct jp_answer *answer)
{
	struct jp_watch watch;

	if (!jp_watch_code(&watch, answer))
		return;
	jp_test_region_map(answer, 0, 4, JP_RX);
	jp_watch_skip(&watch);
	if (munmap(jp_test_region_at(1), jp_test_region_page()) ||
	    munmap(jp_test_region_at(0), 4 * jp_test_region_page()))
		jp_answer_missing(answer, "munmap: %s", jp_answer_errno(errno));
	jp_tell_maps(answer, &watch, JP_TELL_PROT);
}

static void mapped_over(struct jp_answer *answer)
{
	struct jp_watch watch;

	if (!jp_watch_code(&watch, answer))
		return;
	jp_test_region_map(answer, 0, 4, JP_RX);
	jp_watch_skip(&watch);
	jp_test_region_map(answer, 1, 1, JP_RW);
	jp_test_region_map(answer, 2, 1, PROT_NONE);
	jp_tell_maps(answer, &watch, JP_TELL_PROT);
}

/* What mremap itself says, then what an mprotect of the result says. */
static void remap(struct jp_answer *answer, int from, int pages, int more, int to, int flags)
{
	size_t page = jp_test_region_page();
	struct jp_watch watch;
	void *at;

	if (!jp_watch_code(&watch, answer))
		return;
	jp_test_region_map(answer, from, pages, JP_RWX);
	jp_test_region_write(from, pages);
	jp_watch_skip(&watch);
	at = mremap(jp_test_region_at(from), (size_t)pages * page, (size_t)(pages + more) * page,
		    flags, jp_test_region_at(to));
	if (at == MAP_FAILED)
		jp_answer_missing(answer, "mremap: %s", jp_answer_errno(errno));
	jp_tell_maps(answer, &watch, JP_TELL_PLACE);
	jp_answer_text(answer, "mprotect:");
	jp_test_region_protect(answer, to, pages + more, JP_RX);
	jp_tell_maps(answer, &watch, JP_TELL_PLACE);
}

static void remap_move(struct jp_answer *answer)
{
	remap(answer, 0, 2, 0, 16, MREMAP_MAYMOVE | MREMAP_FIXED);
}

static void remap_grow(struct jp_answer *answer)
{
	remap(answer, 0, 2, 2, 0, 0);
}

static void remap_dontunmap(struct jp_answer *answer)
{
	remap(answer, 0, 2, 0, 16, MREMAP_MAYMOVE | MREMAP_FIXED | MREMAP_DONTUNMAP);
}

static void remap_unwritten(struct jp_answer *answer)
{
	size_t page = jp_test_region_page();
	struct jp_watch watch;

	if (!jp_watch_code(&watch, answer))
		return;
	jp_test_region_map(answer, 0, 2, JP_RWX);
	jp_watch_skip(&watch);
	if (mremap(jp_test_region_at(0), 2 * page, 2 * page, MREMAP_MAYMOVE | MREMAP_FIXED,
		   jp_test_region_at(16)) == MAP_FAILED)
		jp_answer_missing(answer, "mremap: %s", jp_answer_errno(errno));
	jp_test_region_protect(answer, 16, 2, JP_RX);
	jp_tell_maps(answer, &watch, JP_TELL_PLACE);
}

static void remap_file(struct jp_answer *answer)
{
	int fd = memfd_create("fact", MFD_CLOEXEC);
	struct jp_watch watch;

	if (fd < 0 || ftruncate(fd, 4 * (off_t)jp_test_region_page()))
		jp_answer_missing(answer, "memfd_create: %s", jp_answer_errno(errno));
	if (!jp_watch_code(&watch, answer))
		return;
	jp_test_region_map_file(answer, 0, 4, JP_RX, MAP_SHARED, fd, 0);
	jp_watch_skip(&watch);
	if (syscall(SYS_remap_file_pages, jp_test_region_at(0), jp_test_region_page(), 0, 2, 0))
		jp_answer_missing(answer, "remap_file_pages: %s", jp_answer_errno(errno));
	jp_tell_maps(answer, &watch, JP_TELL_PLACE);
}

static void while_disabled(struct jp_answer *answer)
{
	struct perf_event_attr attr = jp_watch_sideband();
	struct jp_watch watch;

	if (!jp_watch_open_disabled(&watch, &attr, 16, answer))
		return;
	jp_test_region_map(answer, 0, 1, JP_RX);
	jp_test_region_map(answer, 16, 1, JP_RX);
	if (ioctl(watch.fd, PERF_EVENT_IOC_ENABLE, 0))
		jp_answer_missing(answer, "PERF_EVENT_IOC_ENABLE: %s", jp_answer_errno(errno));
	jp_test_region_map(answer, 1, 1, JP_RX);
	jp_tell_maps(answer, &watch, JP_TELL_RANGE);
}

static void *map_in_thread(void *context)
{
	jp_test_region_map(context, 0, 1, JP_RX);
	return NULL;
}

static void by_thread(struct jp_answer *answer, bool inherit)
{
	struct perf_event_attr attr = jp_watch_sideband();
	struct jp_pid_labels labels = jp_pid_labels_self();
	struct jp_watch watch;
	pthread_t thread;
	int error;

	attr.inherit = inherit;
	attr.task = 0;
	if (!jp_watch_open(&watch, &attr, 16, answer))
		return;
	error = pthread_create(&thread, NULL, map_in_thread, answer);
	if (error)
		jp_answer_missing(answer, "pthread_create: %s", jp_answer_errno(error));
	else
		pthread_join(thread, NULL);
	jp_tell_records(answer, &watch, &labels);
}

static void by_thread_inherited(struct jp_answer *answer)
{
	by_thread(answer, true);
}

static void by_thread_alone(struct jp_answer *answer)
{
	by_thread(answer, false);
}

static const struct jp_fact facts[] = {
	{"record.map",
	 "Four anonymous pages are mapped r-x; the record with its flags (2 is private, 0x1000 "
	 "MAP_EXECUTABLE).",
	 map_rx},
	{"record.map.locked", "A page is mapped r-x with MAP_LOCKED; the record.", map_locked},
	{"record.map.exec_only", "A page is mapped --x; the record.", map_exec_only},
	{"record.map.read_implies_exec",
	 "A page is mapped r-- under READ_IMPLIES_EXEC; the record.", read_implies},
	{"record.flip.same", "Pages r-x become r-x; records.", flip_same},
	{"record.flip.toggle",
	 "Page 1 of four r-x becomes rw-, is written, becomes r-x, twice; records.", toggle},
	{"record.flip.exec_taken_away",
	 "A page r-x becomes rw- while attr.mmap_data is set; type (10 is MMAP2) and misc (0x2000 "
	 "MMAP_DATA) of the records.",
	 take_away},
	{"record.unmap", "One, then all of four pages r-x are unmapped; records.", unmapped},
	{"record.map.over_code", "Data and a reservation are mapped over pages r-x; records.",
	 mapped_over},
	{"record.remap.move",
	 "Two written pages rwx are moved to page 16 by mremap, then become r-x: records of the "
	 "one, and of the other.",
	 remap_move},
	{"record.remap.grow",
	 "Two written pages rwx are grown to four by mremap, then become r-x: records of the one, "
	 "and of the other.",
	 remap_grow},
	{"record.remap.dontunmap",
	 "Two written pages rwx are moved with MREMAP_DONTUNMAP, then become r-x: records of the "
	 "one, and of the other.",
	 remap_dontunmap},
	{"record.remap.unwritten",
	 "Two pages rwx that nobody wrote are moved by mremap to page 16, then become r-x; the "
	 "record, whose pgoff tells whether the move renumbered it.",
	 remap_unwritten},
	{"record.remap_file_pages",
	 "The first page of four of a memfd becomes its third by remap_file_pages; records.",
	 remap_file},
	{"record.map.while_disabled",
	 "Pages 0 and 16 are mapped before the event is enabled, page 1 afterwards; ranges of the "
	 "records.",
	 while_disabled},
	{"record.map.by_thread",
	 "A thread (B) of process A maps a page r-x; the record with its process and thread.",
	 by_thread_inherited},
	{"record.map.by_thread.without_inherit",
	 "The same where the first thread's event has no attr.inherit.", by_thread_alone},
};
static const struct jp_fact_family records = {"records", facts, sizeof(facts) / sizeof(facts[0])};
JP_REGISTER(fact, records);
