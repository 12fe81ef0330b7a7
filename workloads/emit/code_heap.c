// SPDX-License-Identifier: GPL-2.0-only
#include "workloads/emit/code_heap.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "harness/format/truth/write.h"
#include "workloads/emit/option.h"
#include "workloads/emit/publish.h"
#include "workloads/emit/thread.h"

enum { MOST_COMPILERS = 64, MOST_PAGES = 4096 };

const char jp_code_heap_options[] =
	"  --backing=KIND   the code's memory: anon, named (anon with a name), memfd,\n"
	"                   memfd-views (RW and RX), zero (shared anonymous), zero-file\n"
	"                   (/dev/zero shared), zero-private, shm (/dev/shm), sysv, hugetlb,\n"
	"                   heap (brk) (anon)\n"
	"  --compilers=N    threads that compile at once (1)\n"
	"  --pages=N        of the heap; a program on each\n"
	"  --period=MS      between two acts; 0: only by steps (50)\n"
	"  --threads=N      busy threads (1)\n"
	"  --depth=N        functions in a path (8)\n"
	"  --shapes=A,B...  their shapes, outermost first: fp, leaf (only innermost), no_fp,\n"
	"                   long, large, realign (all, mixed)\n"
	"  --turns=N        loop turns of one run of a path (700000, about 1 ms)\n";

static int take_backing(void *context, const char *arg)
{
	struct jp_code_heap *heap = context;

	if (strncmp(arg, "--backing=", 10))
		return 0;
	heap->backing = jp_backing_find(arg + 10);
	if (heap->backing)
		return 1;
	fprintf(stderr, "jitproof workload: '%s': no such backing (see --help)\n", arg);
	return -EINVAL;
}

static int take_of_plan(void *plan, const char *arg)
{
	static const char *const taken[] = {"--threads=", "--depth=", "--shapes=", "--turns="};

	for (size_t i = 0; i < sizeof(taken) / sizeof(taken[0]); i++)
		if (!strncmp(arg, taken[i], strlen(taken[i])))
			return jp_plan_option(plan, arg);
	return 0;
}

int jp_code_heap_option(void *context, const char *arg)
{
	struct jp_code_heap *heap = context;
	const struct jp_option options[] = {
		{.take = take_of_plan, .context = &heap->plan},
		{.take = take_backing, .context = heap},
		{"--compilers=", .number = &heap->compilers, .least = 1, .most = MOST_COMPILERS},
		{"--pages=", .number = &heap->pages, .least = 1, .most = MOST_PAGES},
		{"--period=", .number = &heap->period, .most = 3600000},
		{0}};

	return jp_option_take(options, arg);
}

int jp_code_heap_open_region(const struct jp_code_heap *heap, struct jp_region *region)
{
	/* Call frame information behind each function takes several times its size. */
	unsigned grain = jp_publish_extras() & JP_PUBLISH_UNWINDING ? 4 : 1;

	return jp_region_open(region, heap->backing, heap->pages, grain, "jitproof");
}

int jp_code_heap_open(struct jp_code_heap *heap)
{
	heap->programs = calloc(heap->pages, sizeof(*heap->programs));
	if (!heap->programs)
		return -ENOMEM;
	return jp_code_heap_open_region(heap, &heap->region);
}

int jp_code_heap_write(struct jp_code_heap *heap, unsigned page, unsigned variant)
{
	struct jp_program *program = &heap->programs[page];
	int ret;

	jp_arena_within(&program->arena, &heap->region, page, 1);
	ret = jp_program_write(program, variant);
	return ret == -ENOSPC ? -E2BIG : ret; /* to acts, -ENOSPC means that the heap is full */
}

int jp_code_heap_load(struct jp_code_heap *heap, unsigned page)
{
	return jp_program_load(&heap->programs[page])
		       ?: jp_program_make_paths(&heap->programs[page], &heap->plan);
}

int jp_code_heap_show(struct jp_code_heap *heap, unsigned page, unsigned group)
{
	const struct jp_program *program = &heap->programs[page];

	return jp_schedule_add(&heap->schedule, group, program->paths, program->nr_paths);
}

int jp_code_heap_writable(const struct jp_code_heap *heap)
{
	return PROT_READ | (jp_region_views(&heap->region) ? 0 : PROT_WRITE);
}

int jp_code_heap_both(const struct jp_code_heap *heap)
{
	return jp_code_heap_writable(heap) | PROT_EXEC;
}

struct compiler {
	pthread_t thread;
	int (*act)(void *context, unsigned n);
	void *context;
	unsigned n;
	int ret;
};

static void *compile(void *arg)
{
	struct compiler *compiler = arg;

	compiler->ret = compiler->act(compiler->context, compiler->n);
	return NULL;
}

int jp_code_heap_compile(const struct jp_code_heap *heap, int (*act)(void *context, unsigned n),
			 void *context)
{
	struct compiler compilers[MOST_COMPILERS];
	unsigned started = 0;
	int ret = 0;

	if (heap->compilers == 1)
		return act(context, 0);
	for (; started < heap->compilers && !ret; started++) {
		compilers[started] =
			(struct compiler){.act = act, .context = context, .n = started};
		ret = jp_thread_make(&compilers[started].thread, compile, &compilers[started]);
	}
	if (ret)
		started--;
	for (unsigned i = 0; i < started; i++) {
		jp_thread_join(compilers[i].thread, NULL);
		ret = ret ? ret : compilers[i].ret;
	}
	return ret;
}

static void end(struct jp_code_heap *heap)
{
	uint64_t before = jp_clock_now();

	jp_region_close(&heap->region);
	for (unsigned i = 0; heap->programs && i < heap->pages; i++)
		jp_program_unloaded(&heap->programs[i], before, jp_clock_now());
	free(heap->programs);
	jp_schedule_free(&heap->schedule);
}

int jp_code_heap_run(const char *workload, struct jp_code_heap *heap, int (*begin)(void *context),
		     const struct jp_step *steps, void *context)
{
	const char *missing;
	int ret;

	jp_schedule_open(&heap->schedule);
	ret = begin(context);
	for (unsigned i = 0; i < heap->plan.threads && !ret; i++)
		ret = jp_schedule_thread(&heap->schedule);
	missing = jp_backing_missing(heap->backing, ret);
	if (!ret)
		ret = jp_handshake_every(heap->period * UINT64_C(1000000), steps, context);
	jp_path_stop(NULL);
	end(heap);
	if (missing)
		return jp_handshake_skip(missing);
	return jp_handshake_status(workload, ret);
}
