// SPDX-License-Identifier: GPL-2.0-only
/* Two processes share an address space (clone(CLONE_VM) without CLONE_THREAD). The child runs code
 * that the parent compiled, then compiles code that the parent runs afterwards. */
#include <errno.h>
#include <stdlib.h>

#include "harness/base/excuse.h"
#include "workloads/emit/process.h"
#include "workloads/emit/program.h"
#include "workloads/emit/workload.h"

enum { USE_NS = 24000000 };

static struct {
	struct jp_plan plan;
	struct jp_program first, second;
} scene = {.plan = JP_PLAN(.protect = JP_PROTECT_FLIP)};

static void run_program(const struct jp_program *program)
{
	jp_paths_run(program->paths, program->nr_paths, USE_NS);
}

static int run_borrower(void *context)
{
	run_program(&scene.first);
	if (jp_program_make(&scene.second, &scene.plan))
		return EXIT_FAILURE;
	run_program(&scene.second);
	return EXIT_SUCCESS;
}

static int lend_space(void *context)
{
	int ret;

	run_program(&scene.first);
	ret = jp_process_share(run_borrower, NULL);
	if (ret)
		return ret < 0 ? ret : -ECHILD;
	run_program(&scene.second);
	jp_program_end(&scene.second);
	return 0;
}

static int run(int argc, char **argv)
{
	int ret =
		jp_program_make(&scene.first, &scene.plan) ?: jp_handshake_rounds(lend_space, NULL);

	jp_program_end(&scene.first);
	return jp_handshake_status(argv[0], ret);
}

JP_DEFINE(workload, shared_space) = {
	.name = "shared_space",
	.help = "one address space under two pids (clone(CLONE_VM))",
	.run = run,
};

static const struct jp_excuse excuses[] = {
	{"shared_space.stale", "shared_space", "coverage.stale", "not-executable", "acts.munmap",
	 "one process unmaps memory that records of the other process contain"},
};
JP_REGISTER_ROWS(excuse, excuses);
