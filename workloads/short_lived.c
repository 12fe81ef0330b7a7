// SPDX-License-Identifier: GPL-2.0-only
/* Hundreds of processes that live for 50 ms. Each process compiles its own code, runs it and exits
 * before a profiler can query the process. They are created in every possible way, and every eighth
 * is killed. */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "workloads/emit/process.h"
#include "workloads/emit/program.h"
#include "workloads/emit/workload.h"

enum { WIDTH = 4, MS = 1000000 };
#define ENDLESS UINT64_C(20000000000) /* loop iterations for at least ten seconds */

static struct {
	unsigned life, count; /* lifetime of a process, ms; number of processes before "ready" */
	unsigned born;
	struct jp_child children[WIDTH];
} crowd = {.life = 50};

/* Makes and runs a program for @ms. Returns the exit status. */
static int run_briefly(unsigned ms)
{
	struct jp_plan plan = JP_PLAN(.protect = JP_PROTECT_FLIP);
	struct jp_program program;
	int ret = jp_program_make(&program, &plan);

	if (ret)
		return jp_handshake_status("short_lived", ret);
	jp_paths_run(program.paths, program.nr_paths, (uint64_t)ms * MS);
	return EXIT_SUCCESS;
}

static int run_forked_process(void *context)
{
	return run_briefly(crowd.life);
}

/* Runs until it is killed, inside a path that never ends: a process killed while it writes leaves a
 * torn record. */
static int run_until_killed(void *context)
{
	struct jp_plan plan = JP_PLAN(.protect = JP_PROTECT_FLIP);
	struct jp_program program;

	plan.turns = ENDLESS;
	if (jp_program_make(&program, &plan) || jp_path_run_thread(program.paths, program.nr_paths))
		return EXIT_FAILURE;
	return jp_handshake(NULL, NULL);
}

static int start_process(struct jp_child *process)
{
	unsigned start_method = crowd.born++ % 8;
	char life[32];
	const char *const argv[] = {"short_lived", "--once", life, NULL};

	snprintf(life, sizeof(life), "--life=%u", crowd.life);
	if (start_method < JP_BIRTHS)
		return jp_process_exec(process, start_method, NULL, argv);
	if (start_method < 7)
		return jp_process_fork(process, NULL, run_forked_process, NULL);
	return jp_process_fork(process, NULL, run_until_killed, NULL)
		       ?: jp_process_wait_ready(process);
}

/* Waits for the end of the process that was born as @number; kills it if it runs until then.
 * Returns 0 or -ECHILD. */
static int end_process(unsigned number)
{
	struct jp_child *process = &crowd.children[number % WIDTH];

	if (!process->pid)
		return 0;
	if (number % 8 == 7)
		return jp_process_kill(process) == 128 + 9 ? 0 : -ECHILD;
	return jp_process_reap(process) ? -ECHILD : 0;
}

/* Replaces the oldest process by a new one. Returns 0 or -errno. */
static int replace_oldest_process(void *context)
{
	return end_process(crowd.born - WIDTH)
		       ?: start_process(&crowd.children[crowd.born % WIDTH]);
}

static bool once, then_none;

static int run(int argc, char **argv)
{
	int ret = 0, status = EXIT_SUCCESS;

	if (once)
		return run_briefly(crowd.life);
	if (jp_handshake_skip_denied())
		return EXIT_SUCCESS;
	while (!ret && crowd.born < crowd.count && !jp_handshake_is_stopping())
		ret = replace_oldest_process(NULL);
	if (!ret && !then_none)
		ret = jp_handshake_rounds(replace_oldest_process, NULL);
	for (unsigned i = WIDTH; i; i--)
		if (end_process(crowd.born - i))
			status = EXIT_FAILURE;
	/* --then-none ends all processes: a profiler that looks up names afterwards finds none. */
	if (!ret && then_none)
		ret = jp_handshake(NULL, NULL);
	return ret ? jp_handshake_status(argv[0], ret) : status;
}

static const struct jp_option options[] = {
	{"--life", .value = "MS", .number = &crowd.life,
	 .help = "duration of each process (default: 50)"},
	{"--count", .value = "N", .number = &crowd.count,
	 .help = "processes before \"ready\"; more follow (default: 0)"},
	{"--then-none", .set = &then_none, .help = "start no further processes after --count"},
	{"--once", .set = &once}, /* for start_process() alone, so without help */
	{0}};

JP_DEFINE(workload, short_lived) = {
	.name = "short_lived",
	.help = "processes that live 50 ms, one after the other, started in every way",
	.options = options,
	.run = run,
};
