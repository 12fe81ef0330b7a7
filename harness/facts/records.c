// SPDX-License-Identifier: GPL-2.0-only
/* Facts about which operations cause a mapping record, and about its contents. */
#include <pthread.h>
#include <sys/ioctl.h>
#include <sys/personality.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "harness/facts/test_region.h"
#include "harness/facts/state_maps.h"

static void map_read_implies_exec(struct jp_answer *answer, struct jp_watch *watch)
{
	if (personality(ADDR_NO_RANDOMIZE | READ_IMPLIES_EXEC) < 0)
		jp_answer_failed(answer, "personality");
	jp_test_region_map(answer, 0, 1, PROT_READ);
	jp_answer_maps(answer, watch, JP_FIELDS_PROT);
}

static void remove_exec(struct jp_answer *answer, struct jp_watch *watch)
{
	struct jp_event event;

	jp_test_region_map(answer, 0, 1, JP_RX);
	jp_watch_skip(watch);
	jp_test_region_protect(answer, 0, 1, JP_RW);
	jp_answer_list(answer);
	while (jp_watch_next(watch, &event))
		jp_answer_text(answer, "record %u misc %#x", event.record_type, event.misc);
}

static void remap_file(struct jp_answer *answer, struct jp_watch *watch)
{
	int fd = memfd_create("fact", MFD_CLOEXEC);

	if (fd < 0 || ftruncate(fd, 4 * (off_t)jp_test_region_page()))
		jp_answer_failed(answer, "memfd_create");
	jp_test_region_map_file(answer, 0, 4, JP_RX, MAP_SHARED, fd, 0);
	jp_watch_skip(watch);
	if (syscall(SYS_remap_file_pages, jp_test_region_at(0), jp_test_region_page(), 0, 2, 0))
		jp_answer_failed(answer, "remap_file_pages");
	jp_answer_maps(answer, watch, JP_FIELDS_PLACE);
}

static void map_while_disabled(struct jp_answer *answer)
{
	struct perf_event_attr attr = jp_watch_sideband();
	struct jp_watch watch;

	if (!jp_watch_open_disabled(&watch, &attr, 16, answer))
		return;
	jp_test_region_map(answer, 0, 1, JP_RX);
	jp_test_region_map(answer, 16, 1, JP_RX);
	if (ioctl(watch.fd, PERF_EVENT_IOC_ENABLE, 0))
		jp_answer_failed(answer, "PERF_EVENT_IOC_ENABLE");
	jp_test_region_map(answer, 1, 1, JP_RX);
	jp_answer_maps(answer, &watch, JP_FIELDS_RANGE);
}

static void *map_in_thread(void *context)
{
	jp_test_region_map(context, 0, 1, JP_RX);
	return NULL;
}

static void map_by_thread(struct jp_answer *answer)
{
	struct perf_event_attr attr = jp_watch_sideband();
	struct jp_watch watch;
	pthread_t thread;
	int error;

	attr.inherit = answer->parameter != 0;
	attr.task = 0;
	if (!jp_watch_open(&watch, &attr, 16, answer))
		return;
	error = pthread_create(&thread, NULL, map_in_thread, answer);
	if (error)
		jp_answer_missing(answer, "pthread_create: %s", jp_answer_errno(error));
	else
		pthread_join(thread, NULL);
	jp_answer_records(answer, &watch);
}

static const struct jp_fact facts[] = {
	{"record.map",
	 "Four anonymous pages are mapped r-x; the record with its flags (2 is private, 0x1000 "
	 "MAP_EXECUTABLE).",
	 .acts = "map 0+4 rx; report all"},
	{"record.map.locked", "A page is mapped r-x with MAP_LOCKED; the record.",
	 .acts = "locked 0+1 rx; report all"},
	{"record.map.exec_only", "A page is mapped --x; the record.",
	 .acts = "map 0+1 x; report prot"},
	{"record.map.read_implies_exec",
	 "A page is mapped r-- under READ_IMPLIES_EXEC; the record.",
	 .watched = map_read_implies_exec},
	{"record.flip.same", "r-x pages are made r-x again; the records.",
	 .acts = "map 0+2 rx; forget; protect 0+2 rx; report prot"},
	{"record.flip.toggle",
	 "Twice page 1 of four r-x pages becomes rw-, is written and becomes r-x; the records.",
	 .acts = "map 0+4 rx; forget; protect 1+1 rw; write 1+1; protect 1+1 rx; protect 1+1 rw; "
		 "write 1+1; protect 1+1 rx; report prot"},
	{"record.flip.exec_taken_away",
	 "An r-x page becomes rw- while attr.mmap_data is set; type (10 is MMAP2) and misc "
	 "(0x2000: MMAP_DATA) of the records.",
	 .watched = remove_exec, .bit = JP_ATTR_MMAP_DATA},
	{"record.unmap", "One, then all of four r-x pages are unmapped; the records.",
	 .acts = "map 0+4 rx; forget; unmap 1+1; unmap 0+4; report prot"},
	{"record.map.over_code", "Data and a reservation are mapped over r-x pages; the records.",
	 .acts = "map 0+4 rx; forget; map 1+1 rw; map 2+1 none; report prot"},
	{"record.remap.move",
	 "mremap moves two written rwx pages to page 16, then they become r-x; records of each "
	 "step, \"mprotect:\" between them.",
	 .acts = "map 0+2 rwx; write 0+2; forget; move 0+2 16; report place; say mprotect:; "
		 "protect "
		 "16+2 rx; report place"},
	{"record.remap.grow",
	 "mremap grows two written rwx pages to four, then they become r-x; records of each "
	 "step, \"mprotect:\" between them.",
	 .acts = "map 0+2 rwx; write 0+2; forget; grow 0+2 4; report place; say mprotect:; protect "
		 "0+4 rx; report place"},
	{"record.remap.dontunmap",
	 "Two written rwx pages are moved with MREMAP_DONTUNMAP, then made r-x; records of each "
	 "step, \"mprotect:\" between them.",
	 .acts = "map 0+2 rwx; write 0+2; forget; keep 0+2 16; report place; say mprotect:; "
		 "protect "
		 "16+2 rx; report place"},
	{"record.remap.unwritten",
	 "mremap moves two unwritten rwx pages to page 16, then they become r-x; the record, "
	 "whose pgoff shows whether the move changed it.",
	 .acts = "map 0+2 rwx; forget; move 0+2 16; protect 16+2 rx; report place"},
	{"record.remap_file_pages",
	 "remap_file_pages makes a memfd's third page the first of a mapping of four; the "
	 "records.",
	 .watched = remap_file},
	{"record.map.while_disabled",
	 "Pages 0 and 16 are mapped before the event is enabled, page 1 afterwards; ranges of the "
	 "records.",
	 .probe = map_while_disabled},
	{"record.map.by_thread",
	 "A thread (B) of process A maps a page r-x; all records, with their process and "
	 "thread.",
	 .probe = map_by_thread, .parameter = true},
	{"record.map.by_thread.without_inherit",
	 "A thread (B) of process A maps a page r-x while the event of A's first thread has no "
	 "attr.inherit; all records.",
	 .probe = map_by_thread, .parameter = false},
};
JP_REGISTER_ROWS(fact, facts);
