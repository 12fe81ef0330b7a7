// SPDX-License-Identifier: GPL-2.0-only
/* Facts about the names of mappings in mapping records. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/shm.h>
#include <unistd.h>

#include "harness/facts/test_region.h"
#include "harness/facts/state_maps.h"
#include "harness/facts/tiny_program.h"

static void answer_mapping(struct jp_answer *answer, struct jp_watch *watch, int flags, int fd)
{
	jp_test_region_map_file(answer, 0, 1, JP_RX, flags, fd, 0);
	jp_answer_maps(answer, watch, JP_FIELDS_PLACE);
}

static void map_shared_anonymous(struct jp_answer *answer, struct jp_watch *watch)
{
	answer_mapping(answer, watch, MAP_SHARED | MAP_ANONYMOUS, -1);
}

static void map_dev_zero(struct jp_answer *answer, struct jp_watch *watch)
{
	int fd = open("/dev/zero", O_RDWR | O_CLOEXEC);

	if (fd < 0)
		jp_answer_failed(answer, "/dev/zero");
	else
		answer_mapping(answer, watch, MAP_PRIVATE, fd);
}

static int make_memfd(struct jp_answer *answer, const char *name, unsigned int flags, int pages)
{
	int fd = memfd_create(name, MFD_CLOEXEC | flags);

	if (fd < 0 || ftruncate(fd, pages * (off_t)jp_test_region_page())) {
		jp_answer_failed(answer, "memfd_create");
		return -1;
	}
	return fd;
}

static void map_memfd_twice(struct jp_answer *answer, struct jp_watch *watch)
{
	int fd = make_memfd(answer, "jit", 0, 4);

	if (fd < 0)
		return;
	jp_test_region_map_file(answer, 16, 4, JP_RW, MAP_SHARED, fd, 0);
	jp_test_region_map_file(answer, 0, 2, JP_RX, MAP_SHARED, fd, 0);
	jp_test_region_map_file(answer, 2, 2, JP_RX, MAP_SHARED, fd, 2);
	jp_answer_maps(answer, watch, JP_FIELDS_PLACE);
}

static void map_memfd_private(struct jp_answer *answer, struct jp_watch *watch)
{
	int fd = make_memfd(answer, "a name with blanks", 0, 1);

	if (fd >= 0)
		answer_mapping(answer, watch, MAP_PRIVATE, fd);
}

/* Maps huge pages without touching them, so that none needs to be free (MAP_NORESERVE). */
static void map_huge_page(struct jp_answer *answer, struct jp_watch *watch)
{
	enum { HUGE_PAGES = 512 };

	if (mmap(jp_test_region_at(0), HUGE_PAGES * jp_test_region_page(), JP_RX,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB | MAP_FIXED | MAP_NORESERVE, -1,
		 0) == MAP_FAILED)
		jp_answer_failed(answer, "mmap with MAP_HUGETLB");
	jp_answer_maps(answer, watch, JP_FIELDS_ALL);
}

static void map_huge_memfd(struct jp_answer *answer, struct jp_watch *watch)
{
	enum { HUGE_PAGES = 512 };
	int fd = make_memfd(answer, "huge", MFD_HUGETLB, HUGE_PAGES);

	if (fd < 0)
		return;
	if (mmap(jp_test_region_at(0), HUGE_PAGES * jp_test_region_page(), JP_RX,
		 MAP_SHARED | MAP_FIXED | MAP_NORESERVE, fd, 0) == MAP_FAILED)
		jp_answer_failed(answer, "mmap of a huge memfd");
	jp_answer_maps(answer, watch, JP_FIELDS_PLACE);
}

static void attach_system_v(struct jp_answer *answer, struct jp_watch *watch)
{
	struct jp_event event;
	int id = shmget(IPC_PRIVATE, jp_test_region_page(), 0700 | IPC_CREAT);

	if (id < 0) {
		jp_answer_failed(answer, "shmget");
		return;
	}
	if (shmat(id, jp_test_region_at(0), SHM_EXEC | SHM_RDONLY) == (void *)-1)
		jp_answer_failed(answer, "shmat");
	jp_answer_list(answer);
	/* Leave out the inode: it is the number of the segment, which differs in each run. */
	while (jp_watch_next(watch, &event))
		if (event.type == JP_EVENT_MAP)
			jp_answer_text(answer, "%.*s", JP_MAP_NAME_BYTES, event.map.name);
	shmctl(id, IPC_RMID, NULL);
}

static void protect_heap_page(struct jp_answer *answer, struct jp_watch *watch)
{
	uintptr_t page = jp_test_region_page(), middle;
	char *start = sbrk(64 * (intptr_t)page);

	if (start == (void *)-1) {
		jp_answer_failed(answer, "sbrk");
		return;
	}
	middle = ((uintptr_t)start + 32 * page) & ~(page - 1);
	if (mprotect((void *)middle, page, JP_RWX))
		jp_answer_failed(answer, "mprotect");
	jp_answer_names(answer, watch);
}

static void grow_new_heap(struct jp_answer *answer)
{
	struct perf_event_attr attr = jp_watch_sideband();
	int program = jp_tiny_make_brk_caller(answer);
	struct jp_event event;
	uintptr_t stack_addr = (uintptr_t)__builtin_frame_address(0);
	struct jp_watch watch;

	attr.enable_on_exec = 1;
	attr.mmap_data = 1;
	if (program < 0 || !jp_watch_open_disabled(&watch, &attr, 16, answer))
		return;
	jp_tiny_run_in_child(answer, program, jp_tiny_run);
	jp_answer_list(answer);
	/* Only the heap is a mapping of data far below the stack. */
	while (jp_watch_next(&watch, &event))
		if (event.type == JP_EVENT_MAP && event.map.prot == JP_RW &&
		    event.map.addr < stack_addr / 2)
			jp_answer_text(answer, "%llu pages %s",
				       (unsigned long long)(event.map.len / jp_test_region_page()),
				       event.map.name);
}

static void protect_stack_page(struct jp_answer *answer, struct jp_watch *watch)
{
	uintptr_t page = jp_test_region_page(), stack_addr = (uintptr_t)__builtin_frame_address(0);

	/* The page below this function's frame: the stack does not use it yet. */
	if (mprotect((void *)((stack_addr & ~(page - 1)) - page), page, JP_RWX))
		jp_answer_failed(answer, "mprotect");
	jp_answer_names(answer, watch);
}

static void name_anonymous(struct jp_answer *answer, struct jp_watch *watch)
{
	enum { SET_VMA = 0x53564d41, SET_ANON_NAME = 0 };

	jp_test_region_map(answer, 0, 1, JP_RW);
	if (prctl(SET_VMA, SET_ANON_NAME, jp_test_region_at(0), jp_test_region_page(), "jit"))
		jp_answer_failed(answer, "PR_SET_VMA_ANON_NAME");
	jp_test_region_protect(answer, 0, 1, JP_RX);
	jp_answer_maps(answer, watch, JP_FIELDS_NAME);
}

static void map_deleted_file(struct jp_answer *answer, struct jp_watch *watch)
{
	char path[] = "/tmp/jitproof-fact-XXXXXX", text[JP_ANSWER_TEXT];
	struct jp_event event;
	int fd = mkostemp(path, O_CLOEXEC);

	if (fd < 0 || ftruncate(fd, 2 * (off_t)jp_test_region_page())) {
		jp_answer_failed(answer, "a file in /tmp");
		return;
	}
	jp_test_region_map_file(answer, 0, 1, JP_RX, MAP_PRIVATE, fd, 0);
	unlink(path);
	jp_test_region_map_file(answer, 4, 1, JP_RX, MAP_PRIVATE, fd, 1);
	jp_answer_list(answer);
	while (jp_watch_next(watch, &event)) {
		if (event.type != JP_EVENT_MAP)
			continue;
		snprintf(text, sizeof(text), "%.*s", JP_MAP_NAME_BYTES, event.map.name);
		/* Leave out the part of the name that mkostemp() chose, which differs in each
		 * run. */
		memcpy(text + sizeof(path) - 7, "XXXXXX", 6);
		jp_answer_text(answer, "%s", text);
	}
	unlink(path);
}

static const struct jp_fact facts[] = {
	{"name.shared_anonymous", "A shared anonymous page is mapped r-x; the record.",
	 .watched = map_shared_anonymous},
	{"name.dev_zero", "Maps /dev/zero r-x, private; the record.", .watched = map_dev_zero},
	{"name.memfd",
	 "A memfd's four pages are mapped rw-, then two and two of them r-x elsewhere; the "
	 "records.",
	 .watched = map_memfd_twice},
	{"name.memfd.blanks", "A memfd with blanks in its name is mapped r-x, private; the record.",
	 .watched = map_memfd_private},
	{"name.hugetlb", "An anonymous huge page is mapped r-x; the record.",
	 .watched = map_huge_page},
	{"name.memfd.hugetlb", "A memfd of huge pages is mapped r-x; the record.",
	 .watched = map_huge_memfd},
	{"name.shm_system_v", "A private SysV segment is attached with SHM_EXEC; the record.",
	 .watched = attach_system_v},
	{"name.heap.page", "One page in the middle of the heap becomes rwx; the record.",
	 .watched = protect_heap_page},
	{"name.heap.first",
	 "A new program grows its heap by a page three times while attr.mmap_data is set; the "
	 "records of the heap.",
	 .probe = grow_new_heap},
	{"name.stack.page",
	 "A page of the stack below the program's arguments becomes rwx; the record.",
	 .watched = protect_stack_page},
	{"name.anonymous.named", "A named anonymous page becomes r-x; the record.",
	 .watched = name_anonymous},
	{"name.file.deleted", "A file is mapped r-x, deleted, and mapped again; the records.",
	 .watched = map_deleted_file},
};
JP_REGISTER_ROWS(fact, facts);
