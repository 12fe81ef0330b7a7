// SPDX-License-Identifier: GPL-2.0-only
#include "harness/trace/trace.h"

#include <errno.h>
#include <string.h>

#include "harness/base/clock.h"
#include "harness/trace/burst.h"

/* ATTEMPTS: attempts per requested burst, since often no thread of the process runs. BURSTS: bursts
 * per requested one, since programs begin without emitted code. */
enum { ATTEMPTS = 20, BURSTS = 5 };

/* Returns the next number of a xorshift generator. */
static uint64_t draw_random_number(struct jp_trace *trace)
{
	uint64_t x = trace->random;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	return trace->random = x;
}

/* Returns a random thread that runs or waits for a CPU, or NULL. Any other thread would only stay
 * in its system call. */
static const struct jp_thread *choose_thread(struct jp_trace *trace,
					     const struct jp_threads *threads)
{
	const struct jp_thread *thread = NULL;
	uint64_t running = 0;

	for (size_t i = 0; i < threads->count; i++)
		if (jp_threads_state(&threads->list[i]) == 'R' &&
		    draw_random_number(trace) % ++running == 0)
			thread = &threads->list[i];
	return thread;
}

static int step_through_thread(struct jp_burst *burst, const struct jp_thread *thread,
			       struct jp_error *err)
{
	const int failed =
		jp_checks_begin(burst->checks, (uint32_t)thread->pid, thread->execs, err);

	if (!failed) {
		jp_shadow_clear(burst->shadow);
		jp_burst_run(burst);
	}
	/* It is no error if the process has ended by now. */
	return failed == -ENOMEM ? failed : 0;
}

/* Tries to make one burst. Returns 1 if it was made, 0 if no thread ran or the process did not
 * stop, or -errno and a message. */
static int try_burst(struct jp_trace *trace, struct jp_burst *burst, struct jp_error *err)
{
	const struct jp_thread *thread = choose_thread(trace, burst->threads);
	struct jp_threads *threads = burst->threads;
	pid_t pid;
	int failed = 0;

	if (!thread)
		return 0;
	burst->tid = thread->tid;
	pid = thread->pid;
	if (!jp_threads_stop(threads, pid))
		return 0;
	thread = jp_threads_find(threads, burst->tid);
	if (thread && !thread->group_stop)
		failed = step_through_thread(burst, thread, err);
	jp_threads_resume(threads);
	return failed ?: thread != NULL;
}

int jp_trace_run(struct jp_trace *trace, struct jp_threads *threads,
		 const struct jp_trace_options *options, jp_trace_visit *visit, void *context,
		 struct jp_error *err)
{
	struct jp_tally *tally = &trace->tally;
	struct jp_burst burst = {
		.threads = threads,
		.checks = &trace->checks,
		.shadow = &trace->shadow,
		.steps = options->steps,
		.visit = visit,
		.context = context,
	};
	uint64_t useful = 0;
	int nr_steps = 0;

	trace->random = options->seed;
	trace->checks.tally = tally;
	trace->checks.launched = options->launched;
	for (uint64_t attempts = 0; nr_steps >= 0 && useful < options->bursts &&
				    tally->bursts < (uint64_t)options->bursts * BURSTS &&
				    attempts < (uint64_t)options->bursts * ATTEMPTS;
	     attempts++) {
		const uint64_t gap =
			draw_random_number(trace) % (2000000 * (uint64_t)options->interval_ms);
		const uint64_t emitted = tally->emitted;

		if (!jp_threads_run_until(threads, jp_clock_now() + gap))
			break;
		nr_steps = try_burst(trace, &burst, err);
		tally->bursts += nr_steps > 0;
		tally->refused += nr_steps == 0;
		useful += tally->emitted > emitted;
		burst.number = (uint32_t)tally->bursts;
	}
	tally->calls = trace->shadow.calls;
	tally->returns = trace->shadow.returns;
	memcpy(tally->events, trace->shadow.events, sizeof(tally->events));
	return nr_steps < 0 ? nr_steps : 0;
}

void jp_trace_end(struct jp_trace *trace)
{
	jp_checks_end(&trace->checks);
}

void jp_trace_free(struct jp_trace *trace)
{
	jp_checks_free(&trace->checks);
	jp_shadow_free(&trace->shadow);
}
