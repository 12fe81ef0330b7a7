// SPDX-License-Identifier: GPL-2.0-only
/* Frames that are larger than any stack dump, of emitted code and of a library's. */
#include <stdio.h>
#include <stdlib.h>

#include "workloads/mix.h"
#include "workloads/workload.h"

static const char *const paths[] = {"fhfe", "fle", "hfNe", "lHfe", "fFhHlf", "fNh", NULL};

static int run(int argc, char **argv)
{
	static const struct jp_object_kind kind = {
		.shapes = {JP_SHAPE_FP, JP_SHAPE_NO_FP, JP_SHAPE_HUGE, JP_SHAPE_LONG, JP_SHAPE_FP,
			   JP_SHAPE_NO_FP, JP_SHAPE_LARGE, JP_SHAPE_LEAF}};
	static struct jp_mix mix;
	int ret;

	if (argc > 1) {
		fprintf(stderr, "jitproof workload %s: unknown option '%s'\n", argv[0], argv[1]);
		return 2;
	}
	ret = jp_mix_open(&mix);
	if (!ret)
		ret = jp_mix_library(&mix, &kind, NULL);
	if (!ret)
		ret = jp_mix_paths(&mix, paths, 0);
	return jp_mix_run(argv[0], &mix, ret);
}

static const struct jp_workload big_frames = {
	.name = "big_frames",
	.help = "frames of 128 KiB: larger than any stack dump",
	.options = "",
	.run = run,
};
JP_REGISTER(workload, big_frames);
