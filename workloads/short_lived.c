// SPDX-License-Identifier: GPL-2.0-only
/*
 * Processes of 50 ms, hundreds of them: each compiles code of its own, runs it and is gone before
 * anyone could ask it anything. They come by every way there is; every eighth is killed.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "workloads/emit/process.h"
#include "workloads/emit/program.h"
#include "workloads/emit/workload.h"

enum { WIDTH = 4, MS = 1000000 };
#define ENDLESS UINT64_C(20000000000) /* turns: some ten seconds at least */

static struct {
	unsigned life, count; /* ms, before it is ready */
	unsigned born;
	struct jp_child one[WIDTH];
} crowd = {.life = 50};

/* One of them: in the process that lives so shortly. */
static int live(unsigned ms)
{
	struct jp_plan plan = JP_PLAN(.protect = JP_PROTECT_FLIP);
	struct jp_program program;
	int ret;

	ret = jp_program_make(&program, &plan);
	if (ret)
		return jp_handshake_status("short_lived", ret);
	jp_paths_run(program.paths, program.nr_paths, (uint64_t)ms * MS);
	/* Its mappings end with it. */
	return EXIT_SUCCESS;
}

static int forked(void *context)
{
	return live(crowd.life);
}

/* Lives until it is killed, within a path that takes longer than anyone lets it: one that is killed
 * while it writes tears the truth. */
static int doomed(void *context)
{
	struct jp_plan plan = JP_PLAN(.protect = JP_PROTECT_FLIP);
	struct jp_program program;

	plan.turns = ENDLESS;
	if (jp_program_make(&program, &plan) || jp_path_thread(program.paths, program.nr_paths))
		return EXIT_FAILURE;
	return jp_handshake(NULL, NULL);
}

static int bear(struct jp_child *process)
{
	unsigned way = crowd.born++ % 8;
	char life[32];
	const char *const argv[] = {"short_lived", "--once", life, NULL};

	snprintf(life, sizeof(life), "--life=%u", crowd.life);
	if (way < JP_BIRTHS)
		return jp_process_exec(process, way, NULL, argv);
	if (way < 7)
		return jp_process_fork(process, NULL, forked, NULL);
	return jp_process_fork(process, NULL, doomed, NULL) ?: jp_process_wait_ready(process);
}

/* Puts a new process in the place of the one that is longest there. */
static int next(void *context)
{
	unsigned number = crowd.born;
	struct jp_child *oldest = &crowd.one[number % WIDTH];
	int status = 0;

	if (oldest->pid && (number - WIDTH) % 8 == 7)
		status = jp_process_kill(oldest) == 128 + 9 ? 0 : -ECHILD;
	else if (oldest->pid)
		status = jp_process_reap(oldest) ? -ECHILD : 0;
	return status ? status : bear(oldest);
}

static bool once, then_none;

static int run(int argc, char **argv)
{
	int ret = 0, status;

	if (once)
		return live(crowd.life);
	if (jp_handshake_denied())
		return EXIT_SUCCESS;
	while (!ret && crowd.born < crowd.count && !jp_handshake_stopping())
		ret = next(NULL);
	if (!ret && !then_none)
		ret = jp_handshake_rounds(next, NULL);
	status = jp_process_stop_all(crowd.one, WIDTH) ? EXIT_FAILURE : EXIT_SUCCESS;
	/* Whoever asks for a name now asks a process that is gone. */
	if (!ret && then_none)
		ret = jp_handshake(NULL, NULL);
	return ret ? jp_handshake_status(argv[0], ret) : status;
}

static const struct jp_option options[] = {
	{"--life", .value = "MS", .number = &crowd.life, .help = "of each (50)"},
	{"--count", .value = "N", .number = &crowd.count,
	 .help = "so many before it is ready; then it goes on (0)"},
	{"--then-none", .set = &then_none, .help = "it does not go on"},
	{"--once", .set = &once, .help = "be one of them"},
	{0}};

static const struct jp_workload short_lived = {
	.name = "short_lived",
	.help = "processes of 50 ms, one after another, by every way there is",
	.options = options,
	.run = run,
};
JP_REGISTER(workload, short_lived);
