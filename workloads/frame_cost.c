// SPDX-License-Identifier: GPL-2.0-only
/* Measures the cost of frame pointers: runs the same calls alternately with and without frame
 * pointers, and prints the times at the end. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "harness/base/clock.h"
#include "harness/base/sort.h"
#include "workloads/emit/path.h"
#include "workloads/emit/workload.h"

enum {
	DEPTH = 9,
	REPEAT = 4, /* calls of the next function by each function: 87,381 calls in one run */
	CALLS = 87381,
	MOST_PAIRS = 1 << 16,
	/* Keeps a pair, which the end of the workload waits for, below some 0.4 s. */
	MOST_TURNS = 500,
};

/* One of the two variants: a path whose functions all have the same shape. */
struct frame_side {
	struct jp_arena arena;
	struct jp_path path;
	uint64_t total; /* CPU time, ns */
};

static struct {
	unsigned turns;
	struct frame_side with, without;
	double *ratios;
	size_t nr_ratios;
} scene = {.turns = 1};

static int make_side(struct frame_side *side, enum jp_shape shape, unsigned turns)
{
	struct jp_function function;
	const struct jp_function *order[DEPTH];
	int ret = jp_arena_map(&side->arena, JP_PROTECT_FLIP, 4096, NULL);

	if (ret)
		return ret;
	ret = jp_emit(&side->arena, shape, jp_shape_text(shape), &function)
		      ?: jp_arena_make_executable(&side->arena);
	for (int i = 0; i < DEPTH; i++)
		order[i] = &function;
	if (!ret)
		ret = jp_path_make(&side->path, order, DEPTH, DEPTH);
	for (int i = 0; i < DEPTH && !ret; i++) {
		side->path.steps[i].loops_before = side->path.steps[i].loops_after = turns;
		side->path.steps[i].repeat = i + 1 < DEPTH ? REPEAT : 1;
	}
	return ret;
}

/* Returns the thread's CPU time in ns, which does not depend on other load. */
static uint64_t read_cpu_time(void)
{
	return jp_clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

static uint64_t measure_side(struct frame_side *side)
{
	uint64_t began = read_cpu_time(), duration;

	jp_path_run(&side->path);
	duration = read_cpu_time() - began;
	side->total += duration;
	return duration;
}

static int measure_pair(void *context)
{
	uint64_t with_frames, without_frames;

	if (scene.nr_ratios % 2) {
		without_frames = measure_side(&scene.without);
		with_frames = measure_side(&scene.with);
	} else {
		with_frames = measure_side(&scene.with);
		without_frames = measure_side(&scene.without);
	}
	if (scene.nr_ratios < MOST_PAIRS)
		scene.ratios[scene.nr_ratios++] = (double)with_frames / without_frames;
	return 0;
}

JP_ORDER(compare_doubles, double, jp_compare(*a, *b));

static void print_times(void)
{
	size_t count = scene.nr_ratios;

	if (!count)
		return;
	jp_sort(scene.ratios, count, compare_doubles);
	printf("%zu pairs of %d calls of %u turns: with a frame pointer / without, 5 %%, median, "
	       "95 %%: %.3f %.3f %.3f; %.2f and %.2f ns a call\n",
	       count, CALLS, 2 * scene.turns, scene.ratios[count / 20], scene.ratios[count / 2],
	       scene.ratios[count - 1 - count / 20], (double)scene.with.total / count / CALLS,
	       (double)scene.without.total / count / CALLS);
}

static int run(int argc, char **argv)
{
	int ret;

	scene.ratios = calloc(MOST_PAIRS, sizeof(*scene.ratios));
	ret = scene.ratios ? make_side(&scene.with, JP_SHAPE_FP, scene.turns) : -ENOMEM;
	if (!ret)
		ret = make_side(&scene.without, JP_SHAPE_NO_FP, scene.turns)
			      ?: jp_handshake_rounds(measure_pair, NULL);
	print_times();
	jp_path_free(&scene.with.path);
	jp_path_free(&scene.without.path);
	free(scene.ratios);
	return jp_handshake_status(argv[0], ret);
}

static const struct jp_option options[] = {
	{"--turns", .value = "N", .number = &scene.turns, .min = 1, .max = MOST_TURNS,
	 .help = "iterations of each of a function's two loops (default: 1)"},
	{0}};

JP_DEFINE(workload, frame_cost) = {
	.name = "frame_cost",
	.help = "measures the cost of frame pointers: the same calls with and without",
	.options = options,
	.run = run,
};
