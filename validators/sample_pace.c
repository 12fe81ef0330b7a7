// SPDX-License-Identifier: GPL-2.0-only
/*
 * Pace: a clock event gives a thread one sample each period at most, whoever wrote the file and
 * however much CPU time the thread had: between two samples it ran for that long. And a CPU runs
 * one thread at a time.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/map.h"
#include "harness/judge/validator.h"
#include "validators/sample_class.h"

/* Two expiries of a timer are a period apart, but the first may be handled late, so that two
 * samples lie close together; and a sample more may wait when all begins. */
enum { CLOSE = 2 };
/* Of periods: two samples that are closer than that are close together, whatever passed before
 * them. That takes an expiry which is handled most of a period late: of 190 recordings on two CPUs
 * with a load of 14 two had two such pairs, and none had more. */
static const double NEAR = 0.25;
/* As many of a thread's samples, in the long run. */
static const double RARE = 0.02;
/* Of periods: a timer that was on time comes so close to a whole number of them after the last one.
 * One that a host made late does not, and the next may be close to it: of 2,633 samples eight were
 * so within 7 ms, in which no steal was told. */
static const double ON_TIME = 0.05;
/* How much faster than CLOCK_MONOTONIC an event's own clock may go. */
static const double FASTER = 1.01;

/* Samples of one event on one thread and CPU. */
struct pace {
	uint64_t last; /* 0: none yet */
	double before; /* periods from the one before to the last */
	double ahead;  /* samples, beyond what the time until the last allows */
	double near;   /* samples that were close to the one before, beyond those that are rare */
	double most;   /* of either; of the second without those that a host made late */
	uint64_t at;   /* when */
	uint32_t pid, tid;
};

/* Samples of one event on one CPU, where one thread at a time has it. */
struct cpu_pace {
	uint64_t first, last, samples, threads;
};

struct sample_pace {
	struct jp_view *view;
	struct jp_map cpus;    /* by attr and CPU -> struct cpu_pace */
	struct jp_map paces;   /* by place_of() -> struct pace */
	struct jp_map threads; /* by tid */
	uint64_t period;       /* of all; 0: none, or they differ */
	bool sampled;
	uint64_t nr_threads;
	uint64_t excused;              /* samples close to one that came late */
	uint64_t first, last, watched; /* times of samples; how many are of the truth's processes */
};

static uint64_t place_of(const struct jp_event *event)
{
	return (uint64_t)event->tid << 32 | event->attr << 16 | (event->cpu & UINT16_MAX);
}

/* Expiries that a host may have made late: at most one in each period that it took. */
static double late(const struct sample_pace *state)
{
	return jp_watched_stolen(&state->view->evidence->watched) / (double)state->period;
}

/* A sample close to the last one, which came late: as often as a host has had time for, be it less
 * than it tells of. */
static bool excuse(struct sample_pace *state, const struct pace *pace)
{
	const double room = (jp_watched_stolen(&state->view->evidence->watched) + JP_STOLEN_TICK) /
			    (double)state->period;

	if (pace->before < 1 || fabs(pace->before - round(pace->before)) < ON_TIME ||
	    (double)(state->excused + 1) * (1 - NEAR) > room)
		return false;
	state->excused++;
	return true;
}

static int see_cpu(struct sample_pace *state, const struct jp_event *event, bool fresh)
{
	struct cpu_pace *pace =
		jp_map_at(&state->cpus, (uint64_t)event->attr << 16 | (event->cpu & UINT16_MAX),
			  sizeof(*pace));

	if (!pace)
		return -ENOMEM;
	pace->first = pace->first ?: event->time;
	pace->last = event->time;
	pace->samples++;
	pace->threads += fresh;
	return 0;
}

static int see_sample(struct sample_pace *state, const struct jp_event *event)
{
	struct pace *pace = jp_map_at(&state->paces, place_of(event), sizeof(*pace));
	bool *thread = jp_map_at(&state->threads, event->tid, sizeof(*thread));
	double periods;

	if (!pace || !thread)
		return -ENOMEM;
	state->first = state->first ?: event->time;
	state->last = event->time;
	state->watched += jp_sample_watched(state->view->evidence, event->pid, UINT64_MAX);
	state->nr_threads += !*thread;
	*thread = true;
	if (event->asked && event->asked->cpus && see_cpu(state, event, !pace->last))
		return -ENOMEM;
	if (!state->sampled)
		state->period = event->sample.period;
	state->sampled = true;
	if (state->period != event->sample.period)
		state->period = 0;
	if (!state->period)
		return 0;
	periods = (double)(event->time - pace->last) / (double)state->period;
	pace->ahead = fmax(pace->ahead - FASTER * periods, 0) + 1;
	pace->near = fmax(pace->near - RARE, 0) + (periods < NEAR && !excuse(state, pace));
	pace->before = periods;
	pace->last = event->time;
	if (fmax(pace->ahead, pace->near - late(state)) > pace->most) {
		pace->most = fmax(pace->ahead, pace->near - late(state));
		pace->at = event->time;
		pace->pid = event->pid;
		pace->tid = event->tid;
	}
	return 0;
}

static int see(struct jp_view *view, const struct jp_event *event)
{
	return event->type == JP_EVENT_SAMPLE && event->tid && event->time && !event->observed
		       ? see_sample(view->state, event)
		       : 0;
}

/* How many samples of others the CPUs have room for, where one event watches each of them. */
static struct jp_metric room_of(const struct sample_pace *state)
{
	const double passed = FASTER * (double)(state->last - state->first);
	const double each = CLOSE + passed / (double)state->period;
	const double all = each * state->view->evidence->watched.cpus;

	return jp_metric_count("samples.room", (uint64_t)fmax(all - (double)state->watched, 0));
}

/* One event of a CPU, or one of each thread that was there, each of which may have a sample more.
 */
static int judge_cpus(const struct sample_pace *state, uint64_t *fast, uint64_t *all)
{
	const struct cpu_pace *pace;
	uint64_t key;
	int failed = 0;

	for (size_t at = 0; !failed && (pace = jp_map_next(&state->cpus, &at, &key)); ++*all) {
		const double most =
			CLOSE + (double)pace->threads + late(state) +
			FASTER * (double)(pace->last - pace->first) / (double)state->period;

		if ((double)pace->samples <= most)
			continue;
		++*fast;
		failed = jp_findings_except(&state->view->findings, "samples.pace", "too-many",
					    "CPU %" PRIu64 " from %" PRIu64 " to %" PRIu64
					    ": %" PRIu64 " samples, at most %.0f may be",
					    key & UINT16_MAX, pace->first, pace->last,
					    pace->samples, most);
	}
	return failed;
}

static int end(struct jp_view *view, struct jp_error *err)
{
	struct sample_pace *state = view->state;
	/* Threads with the same events swap them when one follows the other on a CPU
	 * (perf_event_context_sched_out()): each may be close to its next sample. */
	const double allowed = CLOSE + (double)state->nr_threads;
	const struct pace *pace;
	uint64_t key, fast = 0, all = 0;
	int failed = 0;

	/* An event whose period changes counts something else than time. */
	if (!state->period)
		return 0;
	if (state->view->evidence->watched.cpus)
		jp_findings_add(&view->findings, room_of(state));
	/* validators/witness.c measures the time that there was. */
	if (jp_evidence_is_witnessed(view->evidence))
		return 0;
	for (size_t at = 0; !failed && (pace = jp_map_next(&state->paces, &at, &key)); all++) {
		if (pace->most <= allowed)
			continue;
		fast++;
		failed = jp_findings_except(&view->findings, "samples.pace", "too-many",
					    "thread %u/%u until %" PRIu64 ": %.1f samples more than"
					    " one in %" PRIu64 " ns, at most %.0f may be",
					    pace->pid, pace->tid, pace->at, pace->most,
					    state->period, allowed);
	}
	failed = failed ?: judge_cpus(state, &fast, &all);
	jp_findings_add_rate(&view->findings, "samples.pace", fast, all);
	return failed;
}

static int begin(struct jp_view *view, struct jp_error *err)
{
	struct sample_pace *state;

	if (view->evidence->info.breakpoints)
		return 0;
	state = view->state = calloc(1, sizeof(*state));
	if (!state)
		return -ENOMEM;
	state->view = view;
	return 0;
}

static void free_pace(void *context)
{
	struct sample_pace *state = context;

	jp_map_free(&state->cpus);
	jp_map_free(&state->paces);
	jp_map_free(&state->threads);
	free(state);
}

static const struct jp_validator sample_pace = {
	.name = "sample_pace",
	.help = "has no thread more samples than the time between them allows?",
	.traits = JP_LACKS_ALL & ~(JP_LACKS_TIME | JP_LACKS_THREADS),
	.begin = begin,
	.see = see,
	.end = end,
	.free = free_pace,
};
JP_REGISTER(validator, sample_pace);
