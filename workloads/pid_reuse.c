// SPDX-License-Identifier: GPL-2.0-only
/*
 * One pid, many lives: each has code of its own, at places of its own, with functions of its own.
 * Whoever looks a pid up at the end finds the last life, or none. clone3(2) takes the pid where it
 * is permitted: CAP_CHECKPOINT_RESTORE or CAP_SYS_ADMIN, v5.5 and v5.9.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "workloads/emit/process.h"
#include "workloads/emit/program.h"
#include "workloads/emit/workload.h"

enum { LIFE_NS = 60000000 };

static struct {
	pid_t pid;
	unsigned number, count; /* count 0: without end */
} incarnations;

struct body {
	struct jp_program program;
	size_t ran;
};

static int run_next(void *context)
{
	struct body *body = context;

	jp_path_run(&body->program.paths[body->ran++ % body->program.nr_paths]);
	return 0;
}

static bool is_last(void)
{
	return incarnations.count && incarnations.number + 1 == incarnations.count;
}

static int life(void *context)
{
	static const enum jp_protect protects[] = {JP_PROTECT_FLIP, JP_PROTECT_RWX,
						   JP_PROTECT_VIEWS};
	struct jp_plan plan = JP_PLAN();
	struct body body = {0};

	plan.name = "life";
	plan.protect = protects[incarnations.number % 3];
	plan.depth = 5 + incarnations.number % 5;
	if (jp_program_make(&body.program, &plan))
		return EXIT_FAILURE;
	if (is_last())
		return jp_handshake_rounds(run_next, &body) ? EXIT_FAILURE : EXIT_SUCCESS;
	jp_paths_run(body.program.paths, body.program.nr_paths, LIFE_NS);
	/* Its mappings end with it. */
	return EXIT_SUCCESS;
}

/* One life more; the last one goes on as long as we do. */
static int live_again(void *context)
{
	struct jp_fork wanted = {.pid = incarnations.pid};
	struct jp_child process;
	int ret = jp_process_fork(&process, &wanted, life, NULL);

	if (ret == -EEXIST) { /* someone else has it now: another one then */
		incarnations.pid = 0;
		return 0;
	}
	if (!ret && is_last()) {
		ret = jp_process_wait_ready(&process) ?: jp_handshake(NULL, NULL);
		jp_process_tell_stop(&process);
	}
	if (ret)
		return ret;
	incarnations.pid = process.pid;
	incarnations.number++;
	return jp_process_reap(&process) ? -ECHILD : 0;
}

static int run(int argc, char **argv)
{
	int ret;

	if (incarnations.count && incarnations.count < 3) {
		fprintf(stderr, "jitproof workload %s: --lives=%u: expected 3 or more\n", argv[0],
			incarnations.count);
		return 2;
	}
	if (jp_handshake_denied())
		return EXIT_SUCCESS;
	/* Two lives before it is ready: that they can be is known then. */
	ret = live_again(NULL) ?: live_again(NULL);
	if (ret == -EPERM || ret == -ENOSYS)
		return jp_handshake_skip(ret == -EPERM ? "clone3 with set_tid: EPERM "
							 "(CAP_CHECKPOINT_RESTORE)"
						       : "clone3: ENOSYS");
	while (!ret && incarnations.number < incarnations.count)
		ret = live_again(NULL);
	if (!ret && !incarnations.count)
		ret = jp_handshake_rounds(live_again, NULL);
	return jp_handshake_status(argv[0], ret);
}

static const struct jp_option options[] = {
	{"--lives", .value = "N", .number = &incarnations.count,
	 .help = "3 or more: so many, the last as long as it is watched (0: no end)"},
	{0}};

static const struct jp_workload pid_reuse = {
	.name = "pid_reuse",
	.help = "one pid, one life after another, each with code of its own",
	.options = options,
	.run = run,
};
JP_REGISTER(workload, pid_reuse);
