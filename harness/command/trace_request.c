// SPDX-License-Identifier: GPL-2.0-only
#include "harness/command/trace_request.h"

#include <string.h>

#include "harness/base/interrupt.h"
#include "harness/base/survivor.h"
#include "harness/command/command_line.h"

struct jp_trace_options jp_trace_defaults(void)
{
	return (struct jp_trace_options){
		.seed = jp_draw_seed(), .bursts = 50, .steps = 2000, .interval_ms = 20};
}

const struct jp_option *jp_trace_rows(void *context)
{
	struct jp_trace_options *options = context;
	static struct jp_option rows[5];
	const struct jp_option all_rows[] = {
		{"--bursts", .value = "N", .number = &options->bursts, .min = 1, .max = 1000000,
		 .help = "end after N bursts of single steps through emitted code (default: 50)"},
		{"--steps", .value = "N", .number = &options->steps, .min = 1, .max = 100000000,
		 .help = "longest burst, in instructions (default: 2000)"},
		{"--interval", .value = "MS", .number = &options->interval_ms, .min = 1,
		 .max = 3600000, .help = "average time between bursts (default: 20)"},
		{"--seed", .value = "N", .number64 = &options->seed, .min = 1, .max = UINT64_MAX,
		 .help = "seed of the random moments (default: random)"},
		{0}};

	memcpy(rows, all_rows, sizeof(all_rows));
	return rows;
}

int jp_trace_guarded(const char *command, int (*act)(void *context), void *context)
{
	struct jp_error err;
	const pid_t pid = jp_survivor_fork_alone(&err);

	if (pid < 0)
		return jp_command_fail(command, &err);
	if (pid)
		return jp_survivor_status(command, jp_survivor_wait_alone());
	jp_interrupt_watch();
	return act(context);
}
