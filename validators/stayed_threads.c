// SPDX-License-Identifier: GPL-2.0-only
/* Pinned activations: if a thread was on one CPU throughout an activation, all its samples are of
 * that CPU, and that CPU has no sample of another thread meanwhile, and no record of another
 * thread's action. The truth's two clocks show which threads never left their CPU. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "harness/base/map.h"
#include "harness/judge/validator.h"
#include "harness/model/oracle/oracle.h"
#include "validators/gate_names.h"

/* ns: leaving a CPU and returning takes two switches, which last longer. The truth's two clocks
 * differ by less without an interruption. */
enum { STAYED_NS = 1000 };

/* A sample, or a thread's action that a record shows, and the pinned activation around it, if there
 * is one. */
struct stayed_sample {
	const struct jp_truth_activation *activation;
	uint64_t time;
	uint32_t tid, cpu;
};

struct stayed_threads {
	const struct jp_truth_activation *hint;
	struct jp_map threads, cpus; /* last sample of each */
	uint64_t samples, bad;
};

static bool stayed(const struct jp_truth_activation *activation)
{
	const uint64_t passed = activation->leave - activation->enter;

	return passed < activation->cpu + STAYED_NS && activation->cpu < passed + STAYED_NS;
}

static const struct jp_truth_activation *around(struct jp_view *view, uint32_t tid,
						const struct jp_event *event)
{
	struct stayed_threads *state = view->state;
	const uint64_t slack = view->evidence->info.slack;
	const struct jp_truth_activation *one = state->hint =
		jp_truth_activation_at(view->evidence->truth, state->hint, tid, event->time);

	return one && stayed(one) && event->time > one->enter + slack &&
			       event->time + slack < one->leave
		       ? one
		       : NULL;
}

static bool within(const struct stayed_sample *sample, const struct stayed_sample *other,
		   uint64_t slack)
{
	const struct jp_truth_activation *one = sample->activation;

	return one && other->time > one->enter + slack && other->time + slack < one->leave;
}

static int report(struct jp_view *view, const char *cause, const struct stayed_sample *sample,
		  const struct stayed_sample *other)
{
	struct stayed_threads *state = view->state;

	state->bad++;
	return jp_findings_except(&view->findings, "samples.cpu", cause,
				  "thread %u at %" PRIu64 " on CPU %u, thread %u at %" PRIu64
				  " on CPU %u: one of them was on its CPU all the time",
				  other->tid, other->time, other->cpu, sample->tid, sample->time,
				  sample->cpu);
}

/* @tid is the thread that ran. */
static int see_sample(struct jp_view *view, uint32_t tid, const struct jp_event *event)
{
	const uint64_t slack = view->evidence->info.slack;
	struct stayed_threads *state = view->state;
	const struct stayed_sample sample = {around(view, tid, event), event->time, tid,
					     event->cpu};
	struct stayed_sample *thread = jp_map_at(&state->threads, tid, sizeof(*thread));
	struct stayed_sample *cpu = jp_map_at(&state->cpus, event->cpu, sizeof(*cpu));
	int failed = 0;

	if (!thread || !cpu)
		return -ENOMEM;
	state->samples += event->type == JP_EVENT_SAMPLE && sample.activation;
	if (within(&sample, thread, slack) && thread->cpu != sample.cpu)
		failed = report(view, "two-cpus", &sample, thread);
	else if (cpu->tid && cpu->tid != sample.tid &&
		 (within(&sample, cpu, slack) || within(cpu, &sample, slack)))
		failed = report(view, "shared-cpu", &sample, cpu);
	*thread = *cpu = sample;
	return failed;
}

/* Returns whether the kernel wrote the record for an event of ours, on the acting thread's CPU. */
static bool is_done(const struct jp_evidence *evidence, const struct jp_event *event)
{
	return (event->type == JP_EVENT_MAP || event->type == JP_EVENT_COMM ||
		event->type == JP_EVENT_FORK || event->type == JP_EVENT_EXIT) &&
	       event->id && evidence->info.first_enabled &&
	       event->time >= evidence->info.first_enabled &&
	       !jp_snapshots_cover_time(&evidence->snapshots, event->pid, event->time) &&
	       !jp_gate_backfilled(evidence, event);
}

static int see(struct jp_view *view, const struct jp_event *event)
{
	const bool sample = event->type == JP_EVENT_SAMPLE;
	const uint32_t tid = sample ? event->tid : event->by_tid;

	return tid && event->time && !event->observed && event->asked && event->asked->cpus &&
			       (sample || is_done(view->evidence, event))
		       ? see_sample(view, tid, event)
		       : 0;
}

static int end(struct jp_view *view, struct jp_error *err)
{
	const struct stayed_threads *state = view->state;

	jp_findings_add_rate(&view->findings, "samples.cpu", state->bad, state->samples);
	return 0;
}

static int begin(struct jp_view *view, struct jp_error *err)
{
	/* Older truths have no CPU time. */
	if (view->evidence->truth->version < JP_TRUTH_VERSION_CPU)
		return 0;
	view->state = calloc(1, sizeof(struct stayed_threads));
	return view->state ? 0 : -ENOMEM;
}

static void free_stayed(void *context)
{
	struct stayed_threads *state = context;

	jp_map_free(&state->threads);
	jp_map_free(&state->cpus);
	free(state);
}

static const struct jp_validator stayed_threads = {
	.name = "stayed_threads",
	.help = "is who stayed on a CPU alone there, and nowhere else?",
	.traits = JP_LACKS_ALL & ~(JP_LACKS_TIME | JP_LACKS_THREADS),
	.begin = begin,
	.see = see,
	.end = end,
	.free = free_stayed,
};
JP_REGISTER(validator, stayed_threads);
