// SPDX-License-Identifier: GPL-2.0-only
/* System calls of emitted code and of a library: what is sampled in the kernel has a user stack
 * too. */
#include <stdio.h>
#include <stdlib.h>

#include "workloads/mix.h"
#include "workloads/workload.h"

static const char *const paths[] = {"fls", "lfNfs", "nfS", "fgs", NULL};

static int run(int argc, char **argv)
{
	static const struct jp_object_kind kind = {
		.shapes = {JP_SHAPE_FP, JP_SHAPE_NO_FP, JP_SHAPE_SYSCALL, JP_SHAPE_LONG,
			   JP_SHAPE_FP, JP_SHAPE_LONG, JP_SHAPE_FP, JP_SHAPE_LEAF}};
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

static const struct jp_workload syscalls = {
	.name = "syscalls",
	.help = "system calls under emitted code: samples in the kernel",
	.options = "",
	.run = run,
};
JP_REGISTER(workload, syscalls);
