// SPDX-License-Identifier: GPL-2.0-only
/*
 * clone(CLONE_VM) without CLONE_THREAD: one address space under two pids. The child runs what the
 * parent compiled, then compiles something itself, which the parent runs after it.
 */
#include <errno.h>
#include <stdlib.h>

#include "workloads/emit/process.h"
#include "workloads/emit/program.h"
#include "workloads/emit/workload.h"

enum { USE_NS = 24000000 };

static struct {
	struct jp_plan plan;
	struct jp_program first, second;
} scene = {.plan = JP_PLAN(.protect = JP_PROTECT_FLIP)};

static void use(const struct jp_program *program)
{
	jp_paths_run(program->paths, program->nr_paths, USE_NS);
}

static int borrower(void *context)
{
	use(&scene.first);
	if (jp_program_make(&scene.second, &scene.plan))
		return EXIT_FAILURE;
	use(&scene.second);
	return EXIT_SUCCESS;
}

static int round_of(void *context)
{
	int ret;

	use(&scene.first);
	ret = jp_process_share(borrower, NULL);
	if (ret)
		return ret < 0 ? ret : -ECHILD;
	use(&scene.second);
	return jp_program_end(&scene.second);
}

static int run(int argc, char **argv)
{
	int ret;

	ret = jp_program_make(&scene.first, &scene.plan) ?: jp_handshake_rounds(round_of, NULL);
	jp_program_end(&scene.first);
	return jp_handshake_status(argv[0], ret);
}

static const struct jp_workload shared_space = {
	.name = "shared_space",
	.help = "one address space under two pids (clone(CLONE_VM))",
	.run = run,
};
JP_REGISTER(workload, shared_space);
