// SPDX-License-Identifier: GPL-2.0-only
/* Several stacks in one thread. Either emitted code calls a native function that switches to
 * another coroutine, or (--managed) emitted code runs on a stack of its own, as in runtimes that
 * grow or move their stacks, and its native caller is on the thread's stack. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include "harness/base/excuse.h"
#include "workloads/emit/mix.h"
#include "workloads/emit/workload.h"

/* musl declares these functions but does not define them. */
#pragma weak getcontext
#pragma weak makecontext
#pragma weak swapcontext

enum { STACK = 256 << 10, COROUTINES = 3, PATHS = 3, YIELDS = 5 };
/* Bytes left free at the upper end of a stack: before an absent page, some kernels dump only whole
 * blocks (`undumped` in harness/model/machine/). */
enum { UNDUMPED = 64 };

static struct {
	struct jp_mix mix;
	ucontext_t contexts[COROUTINES]; /* [0]: the thread's own stack */
	unsigned current;
} scene;

static bool executable;

/* Maps a stack in executable memory, so that stack addresses look like code addresses. Returns NULL
 * on failure. */
static char *map_executable_stack(size_t page)
{
	struct jp_region region;

	if (jp_region_open_bytes(&region, jp_backing_find("anon"), STACK + page, NULL) ||
	    jp_region_reserve(&region) ||
	    jp_region_map(&region, 0, STACK / page, PROT_READ | PROT_WRITE | PROT_EXEC))
		return NULL;
	return (char *)region.write;
}

/* Maps a stack. The page above the stack is inaccessible, so that stack dumps end at the stack's
 * top. Returns NULL on failure. */
static char *map_stack(void)
{
	const size_t page = sysconf(_SC_PAGESIZE);
	char *stack;

	if (executable)
		return map_executable_stack(page);
	stack = mmap(NULL, STACK + page, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (stack == MAP_FAILED || mprotect(stack + STACK, page, PROT_NONE))
		return NULL;
	return stack;
}

/* Switches to the next coroutine; a path calls this. */
static void switch_coroutine(void)
{
	struct jp_paused *paused = jp_path_pause();
	unsigned previous = scene.current;

	scene.current = (previous + 1) % COROUTINES;
	if (swapcontext(&scene.contexts[previous], &scene.contexts[scene.current])) {
		perror("jitproof workload coroutines: swapcontext");
		exit(EXIT_FAILURE);
	}
	jp_path_resume(paused);
}

static void run_coroutine(int number)
{
	for (unsigned round = number;; round++)
		jp_path_run(&scene.mix.paths[round % PATHS]);
}

static int make_coroutine(int number)
{
	ucontext_t *context = &scene.contexts[number];
	char *stack = map_stack();

	if (!stack || getcontext(context))
		return -errno;
	context->uc_stack.ss_sp = stack;
	context->uc_stack.ss_size = STACK - UNDUMPED;
	context->uc_link = NULL;
	jp_arch_clear_fp(context);
	makecontext(context, (void (*)(void))run_coroutine, 1, number);
	return 0;
}

static int make_coroutines(void)
{
	int ret = 0;

	for (int i = 1; i < COROUTINES && !ret; i++)
		ret = make_coroutine(i);
	for (int i = 0; i < PATHS; i++) {
		struct jp_path *path = &scene.mix.paths[i];
		uint64_t factor = path->steps[0].repeat / YIELDS + 1;

		/* A switch takes much longer than a call: make fewer calls with the same total
		 * work. */
		for (uint32_t d = 0; d < path->depth; d++)
			path->steps[d].loops_before *= factor;
		path->steps[0].repeat = YIELDS;
		jp_path_make_call_out(path, switch_coroutine);
	}
	return ret;
}

static const struct jp_path *choose_next_path(void *context, size_t round)
{
	return &scene.mix.paths[round % PATHS];
}

static bool managed;

static int run(int argc, char **argv)
{
	static const struct jp_object_kind kind = {
		.shapes = {JP_SHAPE_FP, JP_SHAPE_NO_FP, JP_SHAPE_TAIL, JP_SHAPE_LONG, JP_SHAPE_FP,
			   JP_SHAPE_LONG, JP_SHAPE_NO_FP, JP_SHAPE_LEAF}};
	static const char *const paths[] = {"flNf", "lrnfr", "fNlNf", NULL};
	int ret;

	if (!managed && !makecontext)
		return jp_handshake_skip("a C library with makecontext()");
	ret = jp_mix_open_with_library(&scene.mix, &kind) ?: jp_mix_paths(&scene.mix, paths, 0);

	if (!ret && managed) {
		char *stack = map_stack();

		ret = stack ? 0 : -ENOMEM;
		for (int i = 0; i < PATHS && !ret; i++)
			scene.mix.paths[i].stack = stack + STACK;
	} else if (!ret) {
		ret = make_coroutines();
	}
	return jp_mix_run(argv[0], &scene.mix, choose_next_path, ret);
}

static const struct jp_option options[] = {
	{"--executable", .set = &executable, .help = "the stacks lie in executable memory"},
	{"--managed", .set = &managed,
	 .help = "emitted code has its own stack, its caller uses the thread's stack"},
	{0}};

JP_DEFINE(workload, coroutines) = {
	.name = "coroutines",
	.help = "emitted code that switches between several stacks",
	.options = options,
	.run = run,
};

static const struct jp_excuse excuses[] = {
	{"coroutines.stacks", "coroutines", "broken.*", "dump-short", "predicted",
	 "the caller is on another stack, which the dump does not hold"},
};
JP_REGISTER_ROWS(excuse, excuses);
