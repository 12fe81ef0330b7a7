// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a frame pointer costs: the same calls with one and without, turn and turn about. Says at its
 * end how long either took.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "harness/base/clock.h"
#include "workloads/emit/path.h"
#include "workloads/emit/workload.h"

enum {
	DEPTH = 9,
	REPEAT = 4, /* each function calls the next one so often: 87,381 calls in one run */
	CALLS = 87381,
	MOST_PAIRS = 1 << 16,
};

/* One of the two: every function of one shape. */
struct frame_side {
	struct jp_arena arena;
	struct jp_path path;
	uint64_t total; /* ns of the CPU */
};

static struct {
	unsigned turns;
	struct frame_side with, without;
	double *ratios;
	size_t nr_ratios;
} scene = {.turns = 1};

static int make(struct frame_side *side, enum jp_shape shape, unsigned turns)
{
	struct jp_function function;
	const struct jp_function *order[DEPTH];
	int ret = jp_arena_map(&side->arena, JP_PROTECT_FLIP, 4096, NULL, NULL);

	if (ret)
		return ret;
	ret = jp_emit(&side->arena, shape, jp_shape_text(shape), &function)
		      ?: jp_arena_seal(&side->arena);
	for (int i = 0; i < DEPTH; i++)
		order[i] = &function;
	if (!ret)
		ret = jp_path_make(&side->path, order, DEPTH, DEPTH);
	for (int i = 0; i < DEPTH && !ret; i++) {
		side->path.steps[i].before = side->path.steps[i].after = turns;
		side->path.steps[i].repeat = i + 1 < DEPTH ? REPEAT : 1;
	}
	return ret;
}

/* The thread's own time: a machine that is busy otherwise must not count. */
static uint64_t own_time(void)
{
	return jp_clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

static uint64_t measure(struct frame_side *side)
{
	uint64_t began = own_time(), took;

	jp_path_run(&side->path);
	took = own_time() - began;
	side->total += took;
	return took;
}

static int round_of(void *context)
{
	uint64_t with, without;

	if (scene.nr_ratios % 2) {
		without = measure(&scene.without);
		with = measure(&scene.with);
	} else {
		with = measure(&scene.with);
		without = measure(&scene.without);
	}
	if (scene.nr_ratios < MOST_PAIRS)
		scene.ratios[scene.nr_ratios++] = (double)with / without;
	return 0;
}

static int by_value(const void *a, const void *b)
{
	double one = *(const double *)a, other = *(const double *)b;

	return (one > other) - (one < other);
}

static void tell(void)
{
	size_t count = scene.nr_ratios;

	if (!count)
		return;
	qsort(scene.ratios, count, sizeof(*scene.ratios), by_value);
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
	ret = scene.ratios ? make(&scene.with, JP_SHAPE_FP, scene.turns) : -ENOMEM;
	if (!ret)
		ret = make(&scene.without, JP_SHAPE_NO_FP, scene.turns)
			      ?: jp_handshake_rounds(round_of, NULL);
	tell();
	jp_path_free(&scene.with.path);
	jp_path_free(&scene.without.path);
	free(scene.ratios);
	return jp_handshake_status(argv[0], ret);
}

static const struct jp_option options[] = {{"--turns", .value = "N", .number = &scene.turns,
					    .least = 1, .most = 1000000,
					    .help = "of each of a function's two loops (1)"},
					   {0}};

static const struct jp_workload frame_cost = {
	.name = "frame_cost",
	.help = "the same calls with a frame pointer and without, timed",
	.options = options,
	.run = run,
};
JP_REGISTER(workload, frame_cost);
