// SPDX-License-Identifier: GPL-2.0-only
#include "harness/trace/program.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>

#include "harness/base/clock.h"

static int start(struct jp_trace *trace, struct jp_threads *threads,
		 struct jp_trace_program *program, struct jp_error *err)
{
	if (program->pid)
		return jp_threads_attach(threads, (pid_t)program->pid, err);
	jp_announcements_open(&trace->checks.announced);
	program->options.launched = jp_clock_now();
	return jp_threads_launch(threads, program->command, err);
}

int jp_trace_program(struct jp_trace *trace, struct jp_trace_program *program, struct jp_error *err)
{
	struct jp_threads threads = {.children = -1};
	int failed = start(trace, &threads, program, err)
			     ?: jp_trace_run(trace, &threads, &program->options, program->visit,
					     program->context, err);

	program->signalled =
		threads.launched && program->signal && !kill(threads.launched, program->signal);
	jp_threads_end(&threads);
	if (threads.launched && !program->signal)
		fprintf(stderr, "jitproof %s: %" PRIu64 " bursts are done; the command goes on\n",
			program->name, trace->tally.bursts);
	jp_threads_await(&threads);
	program->status = threads.status;
	if (!failed)
		jp_trace_end(trace);
	return failed;
}
