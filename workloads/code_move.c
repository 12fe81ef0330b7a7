// SPDX-License-Identifier: GPL-2.0-only
#include <string.h>

#include "harness/format/truth/write.h"
#include "harness/base/excuse.h"
#include "workloads/emit/code_heap.h"

/* Code that moves while the process runs: the runtime copies the code, or mremap() moves it. The
 * kernel does not record mremap(). */
enum move_how { COPY, REMAP };
static const char *const hows[] = {"copy", "mremap", NULL};

static struct {
	struct jp_code_heap heap;
	struct jp_region unused_region; /* COPY: the region that has no code now */
	unsigned move_method;
	uint64_t start_time;
} moving = {.heap = JP_CODE_HEAP(2), .unused_region = {.fd = -1}};

static int record_move(unsigned page, const struct jp_region *to)
{
	struct jp_program *program = &moving.heap.programs[page];

	program->arena.write = to->write + page * to->page;
	return jp_program_record_move(program, (uintptr_t)to->exec + page * to->page,
				      moving.start_time, jp_clock_now());
}

static int copy_pages(unsigned n)
{
	const struct jp_code_heap *heap = &moving.heap;
	int ret = 0;

	for (unsigned page = n; page < heap->pages && !ret; page += heap->compilers) {
		const size_t offset = page * heap->region.page;
		char *target = (char *)moving.unused_region.exec + offset;

		memcpy(moving.unused_region.write + offset, heap->region.exec + offset,
		       heap->programs[page].arena.used);
		__builtin___clear_cache(target, target + heap->region.page);
		ret = record_move(page, &moving.unused_region);
	}
	return ret;
}

/* Moves the code while no thread runs it: a running path would return to the old addresses. */
static int act_move(void *context, const char *arg)
{
	struct jp_code_heap *heap = &moving.heap;
	struct jp_region old_region = heap->region;
	int ret;

	jp_schedule_close_group(&heap->schedule, 0);
	moving.start_time = jp_clock_now();
	if (moving.move_method == COPY) {
		ret = jp_code_heap_compile(heap, copy_pages);
		heap->region = moving.unused_region;
		moving.unused_region = old_region;
	} else {
		ret = jp_region_remap(&heap->region, heap->region.size);
		for (unsigned page = 0; page < heap->pages && !ret; page++)
			ret = record_move(page, &heap->region);
	}
	jp_schedule_open_group(&heap->schedule, 0);
	return ret;
}

static int begin(void)
{
	struct jp_code_heap *heap = &moving.heap;
	int ret = jp_code_heap_open(heap)
			  ?: jp_region_map_at(&heap->region, jp_code_heap_prot_all(heap), NULL);

	if (!ret && moving.move_method == COPY)
		ret = jp_code_heap_open_region(heap, &moving.unused_region);
	if (!ret && moving.move_method == COPY)
		ret = jp_region_map_at(&moving.unused_region, jp_code_heap_prot_all(heap), NULL);
	for (unsigned page = 0; page < heap->pages && !ret; page++)
		ret = jp_code_heap_write(heap, page, 0)
			      ?: jp_code_heap_load(heap, page)
			      ?: jp_code_heap_schedule(heap, page, 0);
	return ret;
}

static int run(int argc, char **argv)
{
	static const struct jp_step steps[] = {{"move", act_move}, {NULL, NULL}};
	int status = jp_code_heap_run(argv[0], &moving.heap, begin, steps);

	jp_region_close(&moving.unused_region);
	return status;
}

static const struct jp_option options[] = {
	{"--how", .number = &moving.move_method, .words = hows,
	 .help = "the runtime copies the code, or the kernel moves it (copy)"},
	{.get_more = jp_code_heap_options, .context = &moving.heap},
	{.help = "Step: move (moves the code, as every --period)"},
	{0}};

JP_DEFINE(workload, code_move) = {
	.name = "code_move",
	.help = "code that is copied, or moved by mremap(), to another address and back",
	.options = options,
	.run = run,
};

static const struct jp_excuse excuses[] = {
	{"code_move.both", "code_move publish=both* !inject=*", "load.* names.*",
	 "not-published stale later", NULL, "a perf map cannot express a move"},
	{"code_move.mremap", "code_move --how=mremap", "names.unnamed", "no-mapping",
	 "coverage.unmapped", "the kernel has no record of mremap"},
	{"code_move.mremap.loads", "code_move --how=mremap", "load.unnamed", "no-mapping", NULL,
	 "the kernel has no record of mremap"},
	{"code_move.map", "code_move publish=map*", "load.* names.*", "not-published stale later",
	 NULL, "a perf map cannot express a move"},
};
JP_REGISTER_ROWS(excuse, excuses);
