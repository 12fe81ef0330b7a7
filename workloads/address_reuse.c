// SPDX-License-Identifier: GPL-2.0-only
#include <sys/mman.h>

#include "harness/format/truth/write.h"
#include "workloads/emit/code_heap.h"

/* Repeatedly replaces all code by other code, of other sizes and shapes, at the same addresses:
 * which function an address belongs to depends on the time. */
enum how {
	OVERWRITE, /* the memory stays mapped RWX: the kernel records nothing */
	FLIP,      /* the memory stays and changes from RX to RW and back */
	UNMAP,     /* the memory is unmapped, and other memory is mapped at its address */
};
static const char *const hows[] = {"overwrite", "flip", "unmap", NULL};

static struct {
	struct jp_code_heap heap;
	unsigned reuse_method, generation;
} reuse = {.heap = JP_CODE_HEAP(1)};

static int compile_pages(unsigned n)
{
	int ret = 0;

	for (unsigned page = n; page < reuse.heap.pages && !ret; page += reuse.heap.compilers)
		ret = jp_code_heap_write(&reuse.heap, page, reuse.generation);
	return ret;
}

/* Fills the writable memory with the next generation of code. */
static int fill_heap(void)
{
	struct jp_code_heap *heap = &reuse.heap;
	int ret = jp_code_heap_compile(heap, compile_pages);

	reuse.generation++;
	if (!ret && reuse.reuse_method != OVERWRITE)
		ret = jp_region_protect(&heap->region, 0, heap->pages, PROT_READ | PROT_EXEC);
	for (unsigned page = 0; page < heap->pages && !ret; page++)
		ret = jp_code_heap_load(heap, page) ?: jp_code_heap_schedule(heap, page, 0);
	return ret;
}

static int map_heap(void *addr)
{
	struct jp_code_heap *heap = &reuse.heap;

	return jp_region_map_at(&heap->region,
				reuse.reuse_method == OVERWRITE ? jp_code_heap_prot_all(heap)
								: jp_code_heap_prot_write(heap),
				addr);
}

static int act_reuse(void *context, const char *arg)
{
	struct jp_code_heap *heap = &reuse.heap;
	unsigned char *pos = heap->region.exec;
	uint64_t before;
	int ret = 0;

	jp_schedule_close_group(&heap->schedule, 0);
	jp_schedule_clear(&heap->schedule, 0);
	before = jp_clock_now();
	if (reuse.reuse_method == UNMAP)
		ret = jp_region_unmap(&heap->region);
	for (unsigned page = 0; page < heap->pages; page++)
		jp_program_unload(&heap->programs[page], before, jp_clock_now());
	if (!ret && reuse.reuse_method == UNMAP)
		ret = map_heap(pos);
	else if (!ret && reuse.reuse_method == FLIP)
		ret = jp_region_protect(&heap->region, 0, heap->pages,
					jp_code_heap_prot_write(heap));
	if (!ret)
		ret = fill_heap();
	jp_schedule_open_group(&heap->schedule, 0);
	return ret;
}

static int begin(void)
{
	return jp_code_heap_open(&reuse.heap) ?: map_heap(NULL) ?: fill_heap();
}

static int run(int argc, char **argv)
{
	static const struct jp_step steps[] = {{"reuse", act_reuse}, {NULL, NULL}};

	if (reuse.heap.pages < reuse.heap.compilers)
		reuse.heap.pages = reuse.heap.compilers;
	if (reuse.reuse_method == UNMAP && reuse.heap.backing->backing == JP_BACKING_HEAP)
		return jp_handshake_skip("a heap that can be mapped again (--backing=heap)");
	return jp_code_heap_run(argv[0], &reuse.heap, begin, steps);
}

static const struct jp_option options[] = {
	{"--how", .number = &reuse.reuse_method, .words = hows,
	 .help = "put new code into the same memory, RWX; or RX to RW and back; or into other "
		 "memory mapped at the same address (overwrite)"},
	{.get_more = jp_code_heap_options, .context = &reuse.heap},
	{.help = "Step: reuse (replaces the code, as every --period)"},
	{0}};

JP_DEFINE(workload, address_reuse) = {
	.name = "address_reuse",
	.help = "generations of code, each at the address of the previous one",
	.options = options,
	.run = run,
};
