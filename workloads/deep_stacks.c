// SPDX-License-Identifier: GPL-2.0-only
/* Stacks that are deeper than the kernel's limit for a callchain or than a stack dump. */
#include <string.h>

#include "workloads/emit/mix.h"
#include "workloads/emit/workload.h"

/* MOST: largest number of functions in a path. TURNS: loop iterations of one run. MOST_STACK: bytes
 * of stack, enough for MOST functions if every fifth has 3 KiB of locals. */
enum { MOST = 2000, TURNS = 700000, MOST_STACK = 2 << 20 };

static unsigned depth = 300;
static bool large;

/* Makes paths of `depth` functions that repeat the letters of @round. */
static int make_paths(struct jp_mix *mix, const char *round)
{
	static const char *const ends[] = {"e", "f", "lN"};
	size_t length = strlen(round);
	char spelling[MOST + 1];
	int ret = 0;

	for (size_t i = 0; i < sizeof(ends) / sizeof(*ends) && !ret; i++) {
		size_t end = strlen(ends[i]);

		for (unsigned d = 0; d < depth - end; d++)
			spelling[d] = round[(d + i) % length];
		strcpy(spelling + depth - end, ends[i]);
		ret = jp_mix_path(mix, spelling, 0, TURNS, NULL);
	}
	return ret;
}

static int run(int argc, char **argv)
{
	static const struct jp_object_kind kind = {
		.shapes = {JP_SHAPE_FP, JP_SHAPE_NO_FP, JP_SHAPE_LONG, JP_SHAPE_NO_FP, JP_SHAPE_FP,
			   JP_SHAPE_REALIGN, JP_SHAPE_OTHER_BP, JP_SHAPE_LEAF}};
	static struct jp_mix mix;
	int ret;

	/* A sample whose sp is in a new page of the stack has an empty dump until something writes
	 * to the page. */
	jp_path_touch_stack(MOST_STACK);
	ret = jp_mix_open_with_library(&mix, &kind) ?: make_paths(&mix, large ? "gFlfF" : "fllFf");

	return jp_mix_run(argv[0], &mix, NULL, ret);
}

static const struct jp_option options[] = {
	{"--depth", .value = "N", .number = &depth, .min = 4, .max = MOST,
	 .help = "functions in a path (default: 300)"},
	{"--large", .set = &large, .help = "every fifth function has 3 KiB of locals"},
	{0}};

JP_DEFINE(workload, deep_stacks) = {
	.name = "deep_stacks",
	.help = "stacks deeper than a callchain or a stack dump",
	.options = options,
	.run = run,
};
