// SPDX-License-Identifier: GPL-2.0-only
/* Frames of emitted code and of a library, each larger than any stack dump. */
#include "harness/base/excuse.h"
#include "workloads/emit/mix.h"
#include "workloads/emit/workload.h"

/* Size of the stack in bytes: more than the frames of any path need. */
enum { MOST_STACK = 2 << 20 };

static const char *const touched[] = {"fhfe", "fle", "hfNe", "lHfe", "fFhHlf", "fNhN", NULL};
static const char *const hollow[] = {"fufe", "fle", "ufNe", "lUfe", "fFuUlf", "fNuN", NULL};

static bool sparse;

static int run(int argc, char **argv)
{
	static const struct jp_object_kind kind = {
		.shapes = {JP_SHAPE_FP, JP_SHAPE_NO_FP, JP_SHAPE_HUGE, JP_SHAPE_LONG, JP_SHAPE_FP,
			   JP_SHAPE_NO_FP, JP_SHAPE_HOLLOW, JP_SHAPE_LEAF}};

	if (!sparse)
		jp_path_touch_stack(MOST_STACK);
	return jp_mix_run_paths(argv[0], &kind, sparse ? hollow : touched);
}

static const struct jp_option options[] = {
	{"--hollow", .set = &sparse, .help = "leave most pages of the frames untouched"}, {0}};

JP_DEFINE(workload, big_frames) = {
	.name = "big_frames",
	.help = "frames of 128 KiB: larger than any stack dump",
	.options = options,
	.run = run,
};

static const struct jp_excuse excuses[] = {
	{"big_frames.hollow", "big_frames --hollow", "broken.*", "dump-short", "predicted",
	 "the dump ends at a page that is not there"},
};
JP_REGISTER_ROWS(excuse, excuses);
