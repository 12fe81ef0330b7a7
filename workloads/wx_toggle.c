// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "harness/format/truth/write.h"
#include "workloads/emit/code_heap.h"

/* A code heap that is never writable and executable at once: to add code, its pages change from RX
 * to RW and back. The kernel records only the change back, for the whole mapping, so the record
 * covers older code, too. Runtimes differ in what their threads may do during the change. */
enum stop {
	SAFEPOINT,  /* threads wait outside of emitted code during the change */
	FAULT,      /* threads continue; a thread that faults waits in a signal handler */
	IDLE_PAGES, /* only pages in which no thread runs change */
};
static const char *const stops[] = {"safepoint", "fault", "idle-pages", NULL};

static struct {
	struct jp_code_heap heap;
	unsigned stop, group;
	unsigned
		nr_filled[JP_SCHEDULE_GROUPS]; /* number of pages of each group that contain code */
	unsigned nr_fresh; /* number of pages that are being written, after the filled ones */
	pthread_mutex_t lock;
} toggling = {.heap = JP_CODE_HEAP(8), .lock = PTHREAD_MUTEX_INITIALIZER};

/* State that the signal handler reads. */
static const struct jp_region *guarded;
static atomic_uint closed; /* the region is not executable */

/* Returns the pages of a group: half of the heap if threads alternate between groups, else all. */
static unsigned count_group_pages(void)
{
	return toggling.heap.pages / (toggling.stop == IDLE_PAGES ? JP_SCHEDULE_GROUPS : 1);
}

static unsigned get_first_page(unsigned group)
{
	return group * count_group_pages();
}

static void wait_for_exec(int number, siginfo_t *info, void *context)
{
	static __thread uint64_t last; /* end of the wait before this one */
	const uint64_t handled = jp_clock_now();
	unsigned char *pos = info->si_addr;

	if (pos < guarded->exec || pos >= guarded->exec + guarded->size) {
		signal(number,
		       SIG_DFL); /* not our memory: the fault repeats and ends the process */
		return;
	}
	while (atomic_load(&closed))
		syscall(SYS_futex, &closed, FUTEX_WAIT_PRIVATE, 1, NULL, NULL, 0);
	jp_truth_waited_for_exec(last, jp_clock_now(), (uintptr_t)pos, handled);
	last = jp_clock_now();
}

/* Writes a program to the next free page of the group, if any. */
static int write_program(unsigned n)
{
	unsigned page;

	pthread_mutex_lock(&toggling.lock);
	page = toggling.nr_filled[toggling.group] + toggling.nr_fresh;
	toggling.nr_fresh += page < count_group_pages();
	pthread_mutex_unlock(&toggling.lock);
	if (page >= count_group_pages())
		return 0;
	return jp_code_heap_write(&toggling.heap, get_first_page(toggling.group) + page, 0);
}

/* Publishes the code on the fresh pages, which are executable now, and lets threads run it. */
static int publish_fresh_pages(void)
{
	unsigned *nr_filled = &toggling.nr_filled[toggling.group];
	int ret = 0;

	for (; toggling.nr_fresh && !ret; toggling.nr_fresh--, ++*nr_filled) {
		unsigned page = get_first_page(toggling.group) + *nr_filled;

		ret = jp_code_heap_load(&toggling.heap, page)
			      ?: jp_code_heap_schedule(&toggling.heap, page, toggling.group);
	}
	return ret;
}

/* Makes pages RW, writes code, and makes the pages RX: each page of the group on its own, or the
 * whole heap at once. */
static int toggle_pages(void)
{
	struct jp_code_heap *heap = &toggling.heap;
	unsigned stop_pages = toggling.stop == IDLE_PAGES ? 1 : heap->pages;
	unsigned first_page = get_first_page(toggling.group), pages = count_group_pages();
	int ret = 0;

	for (unsigned page = first_page; page < first_page + pages && !ret; page += stop_pages)
		ret = jp_region_protect(&heap->region, page, stop_pages,
					jp_code_heap_prot_write(heap));
	if (!ret)
		ret = jp_code_heap_compile(heap, write_program);
	for (unsigned page = first_page; page < first_page + pages && !ret; page += stop_pages)
		ret = jp_region_protect(&heap->region, page, stop_pages, PROT_READ | PROT_EXEC);
	return ret;
}

static int act_toggle(void *context, const char *arg)
{
	struct jp_schedule *schedule = &toggling.heap.schedule;
	int ret;

	if (toggling.stop == FAULT) {
		atomic_store(&closed, 1);
		ret = toggle_pages();
		atomic_store(&closed, 0);
		syscall(SYS_futex, &closed, FUTEX_WAKE_PRIVATE, INT32_MAX, NULL, NULL, 0);
		return ret ?: publish_fresh_pages();
	}
	if (toggling.stop == IDLE_PAGES)
		toggling.group = (toggling.group + 1) % JP_SCHEDULE_GROUPS;
	jp_schedule_close_group(schedule, toggling.group);
	ret = toggle_pages() ?: publish_fresh_pages();
	jp_schedule_open_group(schedule, toggling.group);
	return ret;
}

/* Fills half of the pages with code. */
static int begin(void)
{
	struct jp_code_heap *heap = &toggling.heap;
	unsigned groups = toggling.stop == IDLE_PAGES ? JP_SCHEDULE_GROUPS : 1;
	struct sigaction action = {.sa_sigaction = wait_for_exec, .sa_flags = SA_SIGINFO};
	int ret = jp_code_heap_open(heap)
			  ?: jp_region_reserve(&heap->region)
			  ?: jp_region_map(&heap->region, 0, heap->pages,
					   jp_code_heap_prot_write(heap));

	for (unsigned i = 0; i < groups * ((count_group_pages() + 1) / 2) && !ret; i++) {
		toggling.group = i % groups;
		ret = write_program(0);
		toggling.nr_filled[toggling.group] += toggling.nr_fresh;
		toggling.nr_fresh = 0;
	}
	if (!ret)
		ret = jp_region_protect(&heap->region, 0, heap->pages, PROT_READ | PROT_EXEC);
	for (toggling.group = 0; toggling.group < groups && !ret; toggling.group++) {
		toggling.nr_fresh = toggling.nr_filled[toggling.group];
		toggling.nr_filled[toggling.group] = 0;
		ret = publish_fresh_pages();
	}
	toggling.group = 0;
	guarded = &heap->region;
	if (!ret && toggling.stop == FAULT && sigaction(SIGSEGV, &action, NULL) < 0)
		ret = -errno;
	return ret;
}

static int run(int argc, char **argv)
{
	static const struct jp_step steps[] = {{"toggle", act_toggle}, {NULL, NULL}};

	if (toggling.stop == IDLE_PAGES && toggling.heap.pages < JP_SCHEDULE_GROUPS)
		toggling.heap.pages = JP_SCHEDULE_GROUPS;
	return jp_code_heap_run(argv[0], &toggling.heap, begin, steps);
}

static const struct jp_option options[] = {
	{"--stop", .number = &toggling.stop, .words = stops,
	 .help = "threads wait outside; or fault and wait in a signal handler; or only pages "
		 "without threads change (safepoint)"},
	{.get_more = jp_code_heap_options, .context = &toggling.heap},
	{.help = "Step: toggle (changes pages, as every --period)"},
	{0}};

JP_DEFINE(workload, wx_toggle) = {
	.name = "wx_toggle",
	.help = "a code heap that goes from RX to RW and back to take more code",
	.options = options,
	.run = run,
};
