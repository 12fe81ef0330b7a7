// SPDX-License-Identifier: GPL-2.0-only
/* System calls of emitted code and of a library: samples in the kernel also have a user stack. */
#include "workloads/emit/mix.h"
#include "workloads/emit/workload.h"

static const char *const paths[] = {"fls", "lfNfs", "nfS", "fgs", NULL};

static int run(int argc, char **argv)
{
	static const struct jp_object_kind kind = {
		.shapes = {JP_SHAPE_FP, JP_SHAPE_NO_FP, JP_SHAPE_SYSCALL, JP_SHAPE_LONG,
			   JP_SHAPE_FP, JP_SHAPE_LONG, JP_SHAPE_FP, JP_SHAPE_LEAF}};

	return jp_mix_run_paths(argv[0], &kind, paths);
}

JP_DEFINE(workload, syscalls) = {
	.name = "syscalls",
	.help = "emitted code that makes system calls: samples in the kernel",
	.run = run,
};
