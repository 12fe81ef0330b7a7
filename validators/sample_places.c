// SPDX-License-Identifier: GPL-2.0-only
/* Places of samples: a sample of the workload in user space must be where any of its processes ever
 * had executable memory. Time and process are not compared: a child of vfork() runs its parent's
 * code, and an interrupt may precede the fault of a thread that returns to a page which is no
 * longer executable. A process that another program forked runs that program's code until it calls
 * exec. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "harness/base/array.h"
#include "harness/base/map.h"
#include "harness/base/order.h"
#include "harness/base/search.h"
#include "harness/base/sort.h"
#include "harness/judge/validator.h"
#include "harness/model/oracle/executable_load.h"
#include "validators/sample_class.h"

struct sample_range {
	uint64_t start, end;
};

/* A process of the workload that another program forked. */
struct forked_process {
	uint64_t nr_nowhere; /* samples in no executable memory of the workload, before an exec */
	uint64_t time, ip;   /* of the first of them */
	uint32_t tid;
	bool has_parent_image; /* it has not called exec */
};

struct sample_places {
	struct jp_view *view;
	struct jp_map forked;        /* struct forked_process by pid */
	struct sample_range *places; /* by start; a range's @end is the largest of all so far */
	size_t count;
	struct sample_range *kernel; /* the kernel's mappings, in the order of records */
	size_t nr_kernel, kernel_capacity;
	uint64_t samples, nowhere; /* samples of the workload in user space; those in no range of
				      @places */
	uint64_t nr_samples,
		nr_elsewhere; /* all samples; samples in the kernel, outside of @kernel */
};

/* A few samples outside of the kernel's mappings are allowed: BPF programs, for example, may have
 * no record. */
static const struct jp_role elsewhere = {.bound = JP_MOST_UNJUDGED};

JP_ORDER(compare_by_start, struct sample_range, jp_compare(a->start, b->start));

static int find_places(struct sample_places *state, const struct jp_executables *truth)
{
	state->places = calloc(truth->count + 1, sizeof(*state->places));
	if (!state->places)
		return -ENOMEM;
	for (size_t i = 0; i < truth->count; i++)
		state->places[i] = (struct sample_range){truth->list[i].start, truth->list[i].end};
	state->count = truth->count;
	jp_sort(state->places, state->count, compare_by_start);
	for (size_t i = 1; i < state->count; i++)
		state->places[i].end = jp_max(state->places[i].end, state->places[i - 1].end);
	return 0;
}

static bool is_executable(const struct sample_places *state, uint64_t ip)
{
	size_t next;

	jp_search(next, state->count, state->places[next].start <= ip);
	return next && ip < state->places[next - 1].end;
}

/* Returns whether @ip lies outside of the kernel's mappings, if the capture has any. */
static bool is_outside_kernel(const struct sample_places *state, uint64_t ip)
{
	for (size_t i = 0; i < state->nr_kernel; i++)
		if (state->kernel[i].start <= ip && ip < state->kernel[i].end)
			return false;
	return state->nr_kernel;
}

/* Notes the start of a process that a program outside of the workload forked, or its exec. */
static int note_process(struct jp_view *view, const struct jp_event *event)
{
	struct sample_places *state = view->state;
	struct forked_process *forked = jp_map_find(&state->forked, event->pid);

	if (event->type == JP_EVENT_COMM && event->comm.exec && forked)
		*forked = (struct forked_process){0};
	if (event->type != JP_EVENT_FORK || event->pid != event->tid ||
	    !jp_sample_is_watched(view->evidence, event->pid, UINT64_MAX) ||
	    jp_sample_is_watched(view->evidence, event->task.ppid, UINT64_MAX))
		return 0;
	forked = jp_map_at(&state->forked, event->pid, sizeof(*forked));
	if (!forked)
		return -ENOMEM;
	forked->has_parent_image = true;
	return 0;
}

static int report_nowhere(struct jp_view *view, uint64_t time, uint64_t pid, uint32_t tid,
			  uint64_t ip)
{
	return jp_findings_count_failure(&view->findings, "samples.nowhere", "not-executable",
					 "at %" PRIu64 ", %" PRIu64
					 "/%u: nothing executable is at %" PRIx64,
					 time, pid, tid, ip);
}

/* Counts a sample in no executable memory of the workload. The sample of a process that may still
 * call exec is reported at the end. */
static int count_nowhere(struct jp_view *view, const struct jp_event *event, uint64_t ip)
{
	struct sample_places *state = view->state;
	struct forked_process *forked = jp_map_find(&state->forked, event->pid);

	if (!forked || !forked->has_parent_image) {
		state->nowhere++;
		return report_nowhere(view, event->time, event->pid, event->tid, ip);
	}
	if (!forked->nr_nowhere++) {
		forked->time = event->time;
		forked->ip = ip;
		forked->tid = event->tid;
	}
	return 0;
}

static int handle_event(struct jp_view *view, const struct jp_event *event)
{
	struct sample_places *state = view->state;
	uint64_t ip, sp;

	if (event->type == JP_EVENT_MAP && event->kernel_map)
		return jp_array_append(
			&state->kernel, &state->nr_kernel, &state->kernel_capacity,
			(struct sample_range){event->map.addr, event->map.addr + event->map.len});
	if (event->type != JP_EVENT_SAMPLE)
		return note_process(view, event);
	state->nr_samples++;
	if (!event->sample.user) {
		state->nr_elsewhere += is_outside_kernel(state, event->sample.ip);
		return 0;
	}
	if (!jp_machine_user(view->machine, event, &ip, &sp) ||
	    !jp_sample_is_watched(view->evidence, event->pid, UINT64_MAX))
		return 0;
	state->samples++;
	return is_executable(state, ip) ? 0 : count_nowhere(view, event, ip);
}

/* Counts the samples of processes that never called exec. */
static int count_forked(struct jp_view *view)
{
	struct sample_places *state = view->state;
	const struct forked_process *forked;
	size_t cursor = 0;
	uint64_t pid;
	int failed = 0;

	while (!failed && (forked = jp_map_next(&state->forked, &cursor, &pid))) {
		state->nowhere += forked->nr_nowhere;
		for (uint64_t i = 0; i < forked->nr_nowhere && !failed; i++)
			failed = report_nowhere(view, forked->time, pid, forked->tid, forked->ip);
	}
	return failed;
}

static int end(struct jp_view *view, struct jp_error *err)
{
	const struct sample_places *state = view->state;
	const int failed = count_forked(view);

	jp_findings_add_rate(&view->findings, "samples.nowhere", state->nowhere, state->samples);
	jp_findings_add_role_rate(&view->findings, &elsewhere, "kernel.elsewhere",
				  state->nr_elsewhere, state->nr_samples);
	return failed;
}

static int begin(struct jp_view *view, struct jp_error *err)
{
	struct jp_executables truth = {0};
	struct sample_places *state = view->state;
	int failed;

	if (view->evidence->truth->version < JP_TRUTH_VERSION_MAPS)
		return 1;
	failed = jp_executables_load(&truth, view->evidence->truth, err)
			 ?: find_places(state, &truth);
	jp_executables_free(&truth);
	return failed;
}

static void free_places(void *context)
{
	struct sample_places *state = context;

	jp_map_free(&state->forked);
	free(state->places);
	free(state->kernel);
}

JP_DEFINE(validator, sample_places) = {
	.name = "sample_places",
	.traits = JP_LACKS_RECORDS | JP_LACKS_NAMES | JP_LACKS_TASKS,
	.state_size = sizeof(struct sample_places),
	.begin = begin,
	.handle = handle_event,
	.end = end,
	.free = free_places,
};
