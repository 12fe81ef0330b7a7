// SPDX-License-Identifier: GPL-2.0-only
#include "workloads/emit/code_heap.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "harness/format/truth/write.h"
#include "workloads/emit/publish.h"
#include "workloads/emit/thread.h"

enum { MOST_COMPILERS = 64, MOST_PAGES = 4096 };

static int parse_backing(const struct jp_option *option, const char *text, struct jp_error *err)
{
	struct jp_code_heap *heap = option->context;

	heap->backing = jp_backing_find(text);
	return heap->backing
		       ? 0
		       : jp_fail(err, EINVAL, "--backing=%s: no such backing (see --help)", text);
}

const struct jp_option *jp_code_heap_options(void *context)
{
	struct jp_code_heap *heap = context;
	static struct jp_option rows[6];
	const struct jp_option all_rows[] = {
		{"--backing", .value = "KIND", .parse = parse_backing, .context = heap,
		 .print_values = jp_backing_print,
		 .help = "the code's memory: anon, named (anon with a name), memfd, memfd-views "
			 "(RW and RX), zero (shared anonymous), zero-file (/dev/zero shared), "
			 "zero-private, shm (/dev/shm), sysv, hugetlb, heap (brk) (anon)"},
		{"--compilers", .value = "N", .number = &heap->compilers, .min = 1,
		 .max = MOST_COMPILERS,
		 .help = "threads that compile at the same time (default: 1)"},
		{"--pages", .value = "N", .number = &heap->pages, .min = 1, .max = MOST_PAGES,
		 .help = "pages of the heap; each holds one program"},
		{"--period", .value = "MS", .number = &heap->period, .max = 3600000,
		 .help = "time between two steps; 0: only on request (default: 50)"},
		{.get_more = jp_path_options, .context = &heap->plan},
		{0}};

	return memcpy(rows, all_rows, sizeof(all_rows));
}

int jp_code_heap_open_region(const struct jp_code_heap *heap, struct jp_region *region)
{
	/* The call frame information after a function is several times larger than it. */
	const size_t page = sysconf(_SC_PAGESIZE);
	const unsigned grain = (jp_program_code_size() + page - 1) / page *
			       (jp_publish_extras() & JP_PUBLISH_UNWINDING ? 4 : 1);

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

	jp_arena_use_region(&program->arena, &heap->region, page, 1);
	ret = jp_program_write(program, variant);
	return ret == -ENOSPC ? -E2BIG : ret; /* for steps, -ENOSPC means that the heap is full */
}

int jp_code_heap_load(struct jp_code_heap *heap, unsigned page)
{
	return jp_program_load(&heap->programs[page])
		       ?: jp_program_make_paths(&heap->programs[page], &heap->plan);
}

int jp_code_heap_schedule(struct jp_code_heap *heap, unsigned page, unsigned group)
{
	const struct jp_program *program = &heap->programs[page];

	return jp_schedule_add(&heap->schedule, group, program->paths, program->nr_paths);
}

int jp_code_heap_prot_write(const struct jp_code_heap *heap)
{
	return PROT_READ | (jp_backing_has_views(heap->backing) ? 0 : PROT_WRITE);
}

int jp_code_heap_prot_all(const struct jp_code_heap *heap)
{
	return jp_code_heap_prot_write(heap) | PROT_EXEC;
}

struct compiler {
	pthread_t thread;
	int (*act)(unsigned n);
	unsigned n;
	int ret;
};

static void *run_compiler(void *arg)
{
	struct compiler *compiler = arg;

	compiler->ret = compiler->act(compiler->n);
	return NULL;
}

int jp_code_heap_compile(const struct jp_code_heap *heap, int (*act)(unsigned n))
{
	struct compiler compilers[MOST_COMPILERS];
	unsigned started = 0;
	int ret = 0;

	if (heap->compilers == 1)
		return act(0);
	for (; started < heap->compilers && !ret; started++) {
		compilers[started] = (struct compiler){.act = act, .n = started};
		ret = jp_thread_make(&compilers[started].thread, run_compiler, &compilers[started]);
	}
	if (ret)
		started--;
	for (unsigned i = 0; i < started; i++) {
		jp_thread_join(compilers[i].thread, NULL);
		ret = ret ? ret : compilers[i].ret;
	}
	return ret;
}

static void close_heap(struct jp_code_heap *heap)
{
	uint64_t before = jp_clock_now();

	jp_region_close(&heap->region);
	for (unsigned i = 0; heap->programs && i < heap->pages; i++)
		jp_program_unload(&heap->programs[i], before, jp_clock_now());
	free(heap->programs);
	jp_schedule_free(&heap->schedule);
}

int jp_code_heap_run(const char *workload, struct jp_code_heap *heap, int (*begin)(void),
		     const struct jp_step *steps)
{
	const char *missing;
	int ret;

	jp_schedule_open(&heap->schedule);
	ret = begin();
	for (unsigned i = 0; i < heap->plan.threads && !ret; i++)
		ret = jp_schedule_start_thread(&heap->schedule);
	missing = ret && ret == heap->backing->error ? heap->backing->missing_feature : NULL;
	if (!ret)
		ret = jp_handshake_with_period(heap->period * UINT64_C(1000000), steps, NULL);
	ret = missing ? jp_handshake_skip(missing) : jp_handshake_status(workload, ret);
	jp_path_stop(NULL);
	close_heap(heap);
	return ret;
}
