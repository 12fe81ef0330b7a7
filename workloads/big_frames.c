// SPDX-License-Identifier: GPL-2.0-only
/* Frames that are larger than any stack dump, of emitted code and of a library's. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "workloads/mix.h"
#include "workloads/workload.h"

/* More than the frames of any of the paths. */
enum { MOST_STACK = 2 << 20 };

static const char *const touched[] = {"fhfe", "fle", "hfNe", "lHfe", "fFhHlf", "fNhN", NULL};
static const char *const hollow[] = {"fufe", "fle", "ufNe", "lUfe", "fFuUlf", "fNuN", NULL};

static int run(int argc, char **argv)
{
	static const struct jp_object_kind kind = {
		.shapes = {JP_SHAPE_FP, JP_SHAPE_NO_FP, JP_SHAPE_HUGE, JP_SHAPE_LONG, JP_SHAPE_FP,
			   JP_SHAPE_NO_FP, JP_SHAPE_HOLLOW, JP_SHAPE_LEAF}};
	const char *const *paths = touched;
	static struct jp_mix mix;
	int ret;

	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--hollow")) {
			fprintf(stderr, "jitproof workload %s: unknown option '%s' (see --help)\n",
				argv[0], argv[i]);
			return 2;
		}
		paths = hollow;
	}
	if (paths == touched)
		jp_path_touch(MOST_STACK);
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
	.options = "  --hollow         most of their pages are never touched\n",
	.run = run,
};
JP_REGISTER(workload, big_frames);
