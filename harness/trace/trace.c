// SPDX-License-Identifier: GPL-2.0-only
#include "harness/trace/trace.h"

#include <errno.h>
#include <string.h>

#include "harness/base/clock.h"
#include "harness/trace/burst.h"

/* Attempts for each burst: often nothing of the process runs. */
enum { ATTEMPTS = 20 };

struct tracing {
	const struct jp_trace_options *options;
	struct jp_burst burst;
	struct jp_checks checks;
	struct jp_shadow shadow;
	uint64_t random;
};

/* Returns the next number of a xorshift generator. */
static uint64_t draw(struct tracing *tracing)
{
	uint64_t x = tracing->random;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	return tracing->random = x;
}

/* Returns a random thread that wants a CPU, or NULL. One that waits would stay in its system
 * call. */
static const struct jp_thread *choose_thread(struct tracing *tracing)
{
	const struct jp_threads *threads = tracing->burst.threads;
	const struct jp_thread *chosen = NULL;
	uint64_t running = 0;

	for (size_t i = 0; i < threads->count; i++)
		if (jp_threads_state(&threads->list[i]) == 'R' && draw(tracing) % ++running == 0)
			chosen = &threads->list[i];
	return chosen;
}

static int burst_in(struct tracing *tracing, pid_t pid, struct jp_error *err)
{
	struct jp_published_files published;
	int failed = jp_published_read((uint32_t)pid, &published, err);

	if (!failed && jp_checks_begin(&tracing->checks, (uint32_t)pid, &published))
		failed = jp_fail(err, ENOMEM, "trace: no memory");
	if (!failed) {
		jp_shadow_clear(&tracing->shadow);
		jp_burst_run(&tracing->burst);
	}
	jp_published_free(&published);
	/* A process that is gone by now is no error. */
	return failed == -ENOMEM ? failed : 0;
}

/* Tries one burst. Returns 1 if there was one, 0 if nothing ran, or -errno and a message. */
static int try_burst(struct tracing *tracing, struct jp_error *err)
{
	const struct jp_thread *thread = choose_thread(tracing);
	struct jp_threads *threads = tracing->burst.threads;
	pid_t pid;
	int failed = 0;

	if (!thread)
		return 0;
	tracing->burst.tid = thread->tid;
	pid = thread->pid;
	if (!jp_threads_stop(threads, pid))
		return 0;
	thread = jp_threads_find(threads, tracing->burst.tid);
	if (thread && !thread->group_stop)
		failed = burst_in(tracing, pid, err);
	jp_threads_resume(threads);
	return failed ?: thread != NULL;
}

int jp_trace(struct jp_threads *threads, const struct jp_trace_options *options,
	     struct jp_tally *tally, jp_trace_visit *visit, void *context, struct jp_error *err)
{
	struct tracing tracing = {
		.options = options,
		.burst = {.threads = threads,
			  .steps = options->steps,
			  .visit = visit,
			  .context = context},
		.checks = {.tally = tally, .launched = options->launched},
		.random = options->seed,
	};
	int done = 0;

	tracing.burst.checks = &tracing.checks;
	tracing.burst.shadow = &tracing.shadow;
	for (uint64_t attempts = 0; done >= 0 && tally->bursts < options->bursts &&
				    attempts < (uint64_t)options->bursts * ATTEMPTS;
	     attempts++) {
		const uint64_t gap = draw(&tracing) % (2000000 * (uint64_t)options->interval_ms);

		if (!jp_threads_run(threads, jp_clock_now() + gap))
			break;
		done = try_burst(&tracing, err);
		tally->bursts += done > 0;
		tally->refused += done == 0;
		tracing.burst.number = (uint32_t)tally->bursts;
	}
	jp_checks_end(&tracing.checks);
	tally->calls = tracing.shadow.calls;
	tally->returns = tracing.shadow.returns;
	memcpy(tally->events, tracing.shadow.events, sizeof(tally->events));
	jp_shadow_free(&tracing.shadow);
	return done < 0 ? done : 0;
}
