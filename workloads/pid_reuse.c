// SPDX-License-Identifier: GPL-2.0-only
/*
 * One pid, many lives: each has code of its own, at places of its own, with functions of its own.
 * Whoever looks a pid up at the end finds the last life, or none. clone3(2) takes the pid where it
 * is permitted: CAP_CHECKPOINT_RESTORE or CAP_SYS_ADMIN, v5.5 and v5.9.
 */
#include <errno.h>
#include <stdlib.h>

#include "harness/truth/write.h"
#include "workloads/option.h"
#include "workloads/process.h"
#include "workloads/program.h"
#include "workloads/workload.h"

enum { LIFE_NS = 60000000 };

struct lives {
	pid_t pid;
	unsigned number;
};

static int life(void *context)
{
	const struct lives *lives = context;
	static const enum jp_protect protects[] = {JP_PROTECT_FLIP, JP_PROTECT_RWX,
						   JP_PROTECT_VIEWS};
	struct jp_plan plan = jp_plan_defaults();
	uint64_t end = jp_truth_now() + LIFE_NS;
	struct jp_program program;

	plan.name = "life";
	plan.protect = protects[lives->number % 3];
	plan.depth = 5 + lives->number % 5;
	if (jp_program_make(&program, &plan))
		return EXIT_FAILURE;
	for (size_t i = 0; jp_truth_now() < end; i++)
		jp_path_run(&program.paths[i % program.nr_paths]);
	/* Its mappings end with it. */
	return EXIT_SUCCESS;
}

/* One life more. */
static int live_again(void *context)
{
	struct lives *lives = context;
	struct jp_fork wanted = {.pid = lives->pid};
	struct jp_process process;
	int ret = jp_process_fork(&process, &wanted, life, lives);

	if (ret == -EEXIST) { /* someone else has it now: another one then */
		lives->pid = 0;
		return 0;
	}
	if (ret)
		return ret;
	lives->pid = process.pid;
	lives->number++;
	return jp_process_reap(&process) ? -ECHILD : 0;
}

static int run(int argc, char **argv)
{
	struct lives lives = {0};
	int ret;

	if (jp_options(argc, argv, NULL))
		return 2;
	/* Two lives before it is ready: that they can be is known then. */
	ret = live_again(&lives);
	if (!ret)
		ret = live_again(&lives);
	if (ret == -EPERM || ret == -ENOSYS)
		return jp_stage_skip(ret == -EPERM ? "clone3 with set_tid: EPERM "
						     "(CAP_CHECKPOINT_RESTORE)"
						   : "clone3: ENOSYS");
	if (!ret)
		ret = jp_stage_rounds(live_again, &lives);
	return jp_stage_status(argv[0], ret);
}

static const struct jp_workload pid_reuse = {
	.name = "pid_reuse",
	.help = "one pid, one life after another, each with code of its own",
	.options = "",
	.run = run,
};
JP_REGISTER(workload, pid_reuse);
