// SPDX-License-Identifier: GPL-2.0-only
/* Many processes, one after the other, have the same pid, each with its own code at its own
 * addresses. A profiler that looks up the pid at the end finds the last process or none. clone3(2)
 * sets the pid, which needs CAP_CHECKPOINT_RESTORE (v5.9) or CAP_SYS_ADMIN (v5.5). */
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
	unsigned number, count; /* count 0: no limit */
} incarnations;

struct state {
	struct jp_program program;
	size_t nr_runs;
};

static int run_next_path(void *context)
{
	struct state *state = context;

	jp_path_run(&state->program.paths[state->nr_runs++ % state->program.nr_paths]);
	return 0;
}

static bool is_last_incarnation(void)
{
	return incarnations.count && incarnations.number + 1 == incarnations.count;
}

static int run_incarnation(void *context)
{
	static const enum jp_protect protects[] = {JP_PROTECT_FLIP, JP_PROTECT_RWX,
						   JP_PROTECT_VIEWS};
	struct jp_plan plan = JP_PLAN();
	struct state state = {0};

	plan.name = "life";
	plan.protect = protects[incarnations.number % 3];
	plan.depth = 5 + incarnations.number % 5;
	if (jp_program_make(&state.program, &plan))
		return EXIT_FAILURE;
	if (is_last_incarnation())
		return jp_handshake_rounds(run_next_path, &state) ? EXIT_FAILURE : EXIT_SUCCESS;
	jp_paths_run(state.program.paths, state.program.nr_paths, LIFE_NS);
	return EXIT_SUCCESS;
}

/* Runs the next process. The last one runs until the handshake ends. */
static int start_incarnation(void *context)
{
	struct jp_fork fork_options = {.pid = incarnations.pid};
	struct jp_child process;
	int ret = jp_process_fork(&process, &fork_options, run_incarnation, NULL);

	if (ret == -EEXIST) { /* another process has the pid: use a new one */
		incarnations.pid = 0;
		return 0;
	}
	if (!ret && is_last_incarnation()) {
		ret = jp_process_wait_ready(&process) ?: jp_handshake(NULL, NULL);
		jp_process_send_stop(&process);
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
	if (jp_handshake_skip_denied())
		return EXIT_SUCCESS;
	/* Run two processes before "ready", to find out whether the machine supports set pids. */
	ret = start_incarnation(NULL) ?: start_incarnation(NULL);
	if (ret == -EPERM || ret == -ENOSYS)
		return jp_handshake_skip(ret == -EPERM ? "clone3 with set_tid: EPERM "
							 "(CAP_CHECKPOINT_RESTORE)"
						       : "clone3: ENOSYS");
	while (!ret && incarnations.number < incarnations.count)
		ret = start_incarnation(NULL);
	if (!ret && !incarnations.count)
		ret = jp_handshake_rounds(start_incarnation, NULL);
	return jp_handshake_status(argv[0], ret);
}

static const struct jp_option options[] = {
	{"--lives", .value = "N", .number = &incarnations.count,
	 .help = "number of processes, 3 or more; the last one runs until the workload is stopped "
		 "(0: no limit)"},
	{0}};

JP_DEFINE(workload, pid_reuse) = {
	.name = "pid_reuse",
	.help = "one pid that many processes use in turn, each with its own code",
	.options = options,
	.run = run,
};
