// SPDX-License-Identifier: GPL-2.0-only
/* Pinned activations: if a thread ran on one CPU throughout an activation, all its samples must be
 * of that CPU, and that CPU has no sample or live record of another thread. An activation was
 * pinned if the thread's CPU time equals the elapsed time. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "harness/base/map.h"
#include "harness/judge/validator.h"
#include "harness/model/oracle/oracle.h"
#include "validators/gate_names.h"

/* Largest difference, in ns, between CPU time and elapsed time of a pinned activation. Two context
 * switches, which leaving a CPU needs, take longer. */
enum { PINNED_NS = 1000 };

/* A sample, or a live record of a thread. */
struct thread_run {
	const struct jp_truth_activation *activation; /* the pinned activation, or NULL */
	uint64_t time;
	uint32_t tid, cpu;
};

struct pinned_activations {
	struct jp_view *view;
	const struct jp_truth_activation *hint;
	struct jp_map threads, cpus; /* last struct thread_run of each */
	uint64_t samples, nr_bad;
};

static bool is_pinned(const struct jp_truth_activation *activation)
{
	const uint64_t elapsed = activation->leave - activation->enter;

	return elapsed < activation->cpu + PINNED_NS && activation->cpu < elapsed + PINNED_NS;
}

/* Returns the pinned activation of @tid that surely contains @event, or NULL. */
static const struct jp_truth_activation *find_activation(struct jp_view *view, uint32_t tid,
							 const struct jp_event *event)
{
	struct pinned_activations *state = view->state;
	const uint64_t slack = view->evidence->info.slack;
	const struct jp_truth_activation *activation = state->hint =
		jp_truth_activation_at(view->evidence->truth, state->hint, tid, event->time);

	return activation && is_pinned(activation) && event->time > activation->enter + slack &&
			       event->time + slack < activation->leave
		       ? activation
		       : NULL;
}

/* Returns whether @other_run surely lies in the pinned activation of @sample. */
static bool is_in_same_activation(const struct thread_run *sample,
				  const struct thread_run *other_run, uint64_t slack)
{
	const struct jp_truth_activation *activation = sample->activation;

	return activation && other_run->time > activation->enter + slack &&
	       other_run->time + slack < activation->leave;
}

static int report(struct jp_view *view, const char *cause, const struct thread_run *sample,
		  const struct thread_run *other_run)
{
	struct pinned_activations *state = view->state;

	state->nr_bad++;
	return jp_findings_count_failure(&view->findings, "samples.cpu", cause,
					 "thread %u at %" PRIu64 " on CPU %u, thread %u at %" PRIu64
					 " on CPU %u: one of them was on its CPU all the time",
					 other_run->tid, other_run->time, other_run->cpu,
					 sample->tid, sample->time, sample->cpu);
}

/* Judges @event, a sample or live record, which proves that thread @tid ran on its CPU. */
static int judge_run(struct jp_view *view, uint32_t tid, const struct jp_event *event)
{
	const uint64_t slack = view->evidence->info.slack;
	struct pinned_activations *state = view->state;
	const struct thread_run sample = {find_activation(view, tid, event), event->time, tid,
					  event->cpu};
	struct thread_run *thread = jp_map_at(&state->threads, tid, sizeof(*thread));
	struct thread_run *cpu = jp_map_at(&state->cpus, event->cpu, sizeof(*cpu));
	int failed = 0;

	if (!thread || !cpu)
		return -ENOMEM;
	state->samples += event->type == JP_EVENT_SAMPLE && sample.activation;
	if (is_in_same_activation(&sample, thread, slack) && thread->cpu != sample.cpu)
		failed = report(view, "two-cpus", &sample, thread);
	else if (cpu->tid && cpu->tid != sample.tid &&
		 (is_in_same_activation(&sample, cpu, slack) ||
		  is_in_same_activation(cpu, &sample, slack)))
		failed = report(view, "shared-cpu", &sample, cpu);
	*thread = *cpu = sample;
	return failed;
}

/* Returns whether the kernel wrote the record for our event, on the CPU of the acting thread. */
static bool is_live(const struct jp_evidence *evidence, const struct jp_event *event)
{
	return (event->type == JP_EVENT_MAP || event->type == JP_EVENT_COMM ||
		event->type == JP_EVENT_FORK || event->type == JP_EVENT_EXIT) &&
	       event->id && evidence->info.first_enabled &&
	       event->time >= evidence->info.first_enabled &&
	       !jp_snapshots_cover_time(&evidence->snapshots, event->pid, event->time) &&
	       !jp_gate_find_backfill(evidence, event);
}

static int handle_event(struct jp_view *view, const struct jp_event *event)
{
	const bool is_sample = event->type == JP_EVENT_SAMPLE;
	const uint32_t tid = is_sample ? event->tid : event->by_tid;

	return tid && event->time && !event->observed && event->asked && event->asked->cpus &&
			       (is_sample || is_live(view->evidence, event))
		       ? judge_run(view, tid, event)
		       : 0;
}

static int end(struct jp_view *view, struct jp_error *err)
{
	const struct pinned_activations *state = view->state;

	static const struct jp_role impossible = {.faults = "invented"};

	jp_findings_add_role_rate(&view->findings, &impossible, "samples.cpu", state->nr_bad,
				  state->samples);
	return 0;
}

static int begin(struct jp_view *view, struct jp_error *err)
{
	/* Older truths have no CPU time. */
	return view->evidence->truth->version < JP_TRUTH_VERSION_CPU;
}

static void free_pinned(void *context)
{
	struct pinned_activations *state = context;

	jp_map_free(&state->threads);
	jp_map_free(&state->cpus);
}

JP_DEFINE(validator, pinned_activations) = {
	.name = "pinned_activations",
	.traits = JP_LACKS_ALL & ~(JP_LACKS_TIME | JP_LACKS_THREADS),
	.state_size = sizeof(struct pinned_activations),
	.begin = begin,
	.handle = handle_event,
	.end = end,
	.free = free_pinned,
};
