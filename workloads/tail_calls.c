// SPDX-License-Identifier: GPL-2.0-only
/* Functions that end with a tail call: a jump to a function that returns to their caller. */
#include "workloads/emit/mix.h"
#include "workloads/emit/workload.h"

static const char *const paths[] = {"ftle", "ltTfe", "fttnfe", "nTle", "fTtlt",
				    "fNTN", "lfT",   "ftN",    NULL};

static int run(int argc, char **argv)
{
	static const struct jp_object_kind kind = {
		.shapes = {JP_SHAPE_FP, JP_SHAPE_NO_FP, JP_SHAPE_TAIL, JP_SHAPE_LONG, JP_SHAPE_FP,
			   JP_SHAPE_LONG, JP_SHAPE_TAIL, JP_SHAPE_LEAF}};

	return jp_mix_run_paths(argv[0], &kind, paths);
}

JP_DEFINE(workload, tail_calls) = {
	.name = "tail_calls",
	.help = "functions that end with a jump to the next function (tail calls)",
	.run = run,
};
