// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <pthread.h>
#include <sys/mman.h>

#include "workloads/emit/code_heap.h"

/* A code heap that grows page by page while threads run all of it. For each new page the kernel
 * records the whole mapping into which it merged the page, so the record covers code that is older
 * than the record. */
enum direction { UP, DOWN, HOLES };
enum manner {
	MMAP,          /* maps the new page next to the old ones */
	MPROTECT,      /* makes an existing RW page RX */
	LATE_MPROTECT, /* like MPROTECT, but publishes the code before mprotect() */
	RESERVE,       /* makes an existing PROT_NONE page RW, then RX */
};
static const char *const directions[] = {"up", "down", "holes", NULL};
static const char *const manners[] = {"mmap", "mprotect", "late-mprotect", "reserve", NULL};

static struct {
	struct jp_code_heap heap;
	unsigned direction, manner;
	unsigned unit;  /* number of pages by which one step grows the heap */
	unsigned grown; /* number of such units that are mapped */
	pthread_mutex_t lock;
} growth = {.heap = JP_CODE_HEAP(16), .lock = PTHREAD_MUTEX_INITIALIZER};

static unsigned locate_unit(unsigned number)
{
	unsigned units = growth.heap.pages / growth.unit, is_even = (units + 1) / 2;

	switch (growth.direction) {
	case DOWN:
		return units - 1 - number;
	case HOLES: /* first every second unit, then the units in between */
		return number < is_even ? 2 * number : 2 * (number - is_even) + 1;
	default:
		return number;
	}
}

/* Makes the memory of the unit at page @first writable. Maps units in the order of addresses,
 * because the program break grows only in this way. */
static int prepare_unit(unsigned first)
{
	struct jp_code_heap *heap = &growth.heap;

	if (growth.manner == MMAP)
		return jp_region_map(&heap->region, first, growth.unit,
				     jp_code_heap_prot_all(heap));
	if (growth.manner == RESERVE)
		return jp_region_protect(&heap->region, first, growth.unit,
					 jp_code_heap_prot_write(heap));
	return 0;
}

enum { WRITE, LOAD, SCHEDULE };

static int process_pages(unsigned first, int operation)
{
	int ret = 0;

	for (unsigned page = first; page < first + growth.unit && !ret; page++)
		ret = operation == WRITE  ? jp_code_heap_write(&growth.heap, page, 0)
		      : operation == LOAD ? jp_code_heap_load(&growth.heap, page)
					  : jp_code_heap_schedule(&growth.heap, page, 0);
	return ret;
}

static int grow_unit(unsigned n)
{
	unsigned first;
	int ret = 0;

	pthread_mutex_lock(&growth.lock);
	if (growth.grown == growth.heap.pages / growth.unit)
		ret = -ENOSPC;
	first = locate_unit(growth.grown) * growth.unit;
	if (!ret)
		ret = prepare_unit(first);
	growth.grown += !ret;
	pthread_mutex_unlock(&growth.lock);
	if (!ret)
		ret = process_pages(first, WRITE);
	if (!ret && growth.manner == LATE_MPROTECT)
		ret = process_pages(first, LOAD);
	if (!ret && growth.manner != MMAP)
		ret = jp_region_protect(&growth.heap.region, first, growth.unit,
					PROT_READ | PROT_EXEC);
	if (!ret && growth.manner != LATE_MPROTECT)
		ret = process_pages(first, LOAD);
	return ret ?: process_pages(first, SCHEDULE);
}

static int act_grow(void *context, const char *arg)
{
	return jp_code_heap_compile(&growth.heap, grow_unit);
}

static int begin(void)
{
	struct jp_code_heap *heap = &growth.heap;
	unsigned units = heap->pages / growth.unit;
	unsigned start = growth.direction == HOLES ? (units + 1) / 2 : (units + 3) / 4;
	int ret = jp_code_heap_open(heap) ?: jp_region_reserve(&heap->region);

	if (!ret && growth.manner != MMAP)
		ret = jp_region_map(&heap->region, 0, heap->pages,
				    growth.manner == RESERVE ? PROT_NONE
							     : jp_code_heap_prot_write(heap));
	while (!ret && growth.grown < start)
		ret = grow_unit(0);
	return ret;
}

static int run(int argc, char **argv)
{
	static const struct jp_step steps[] = {{"grow", act_grow}, {NULL, NULL}};

	if (!growth.unit)
		growth.unit = growth.manner == LATE_MPROTECT ? (growth.heap.pages + 3) / 4 : 1;
	if (growth.unit > growth.heap.pages)
		growth.unit = growth.heap.pages;
	if (growth.manner == MMAP && growth.direction != UP &&
	    growth.heap.backing->backing == JP_BACKING_HEAP)
		return jp_handshake_skip("a program break that grows down (--backing=heap)");
	return jp_code_heap_run(argv[0], &growth.heap, begin, steps);
}

static const struct jp_option options[] = {
	{"--direction", .number = &growth.direction, .words = directions,
	 .help = "where the next page is: above, below, between two (up)"},
	{"--manner", .number = &growth.manner, .words = manners,
	 .help = "map pages RWX; RW, then RX; the same, published while RW; or PROT_NONE, then RW, "
		 "then RX (mmap)"},
	{"--unit", .value = "N", .number = &growth.unit, .min = 1, .max = 4096,
	 .help = "pages at a time (1; late-mprotect: a quarter)"},
	{.get_more = jp_code_heap_options, .context = &growth.heap},
	{.help = "Step: grow (adds pages, as every --period)"},
	{0}};

JP_DEFINE(workload, coalesced_growth) = {
	.name = "coalesced_growth",
	.help = "a code heap that grows page by page, which the kernel records as a whole",
	.options = options,
	.run = run,
};
