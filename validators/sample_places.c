// SPDX-License-Identifier: GPL-2.0-only
/* Places of samples: a sample of the workload in user space must be where any of its processes ever
 * had executable memory. Time and process are not compared: a child of vfork() runs its parent's
 * code, and an interrupt may precede the fault of a thread that returns to a page which is no
 * longer executable. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "harness/base/array.h"
#include "harness/base/order.h"
#include "harness/base/search.h"
#include "harness/base/sort.h"
#include "harness/judge/validator.h"
#include "harness/model/oracle/executable_load.h"
#include "validators/sample_class.h"

struct sample_range {
	uint64_t start, end;
};

struct sample_places {
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

static int handle_event(struct jp_view *view, const struct jp_event *event)
{
	struct sample_places *state = view->state;
	uint64_t ip, sp;

	if (event->type == JP_EVENT_MAP && event->kernel_map)
		return jp_array_append(
			&state->kernel, &state->nr_kernel, &state->kernel_capacity,
			(struct sample_range){event->map.addr, event->map.addr + event->map.len});
	if (event->type != JP_EVENT_SAMPLE)
		return 0;
	state->nr_samples++;
	if (!event->sample.user) {
		state->nr_elsewhere += is_outside_kernel(state, event->sample.ip);
		return 0;
	}
	if (!jp_machine_user(view->machine, event, &ip, &sp) ||
	    !jp_sample_is_watched(view->evidence, event->pid, UINT64_MAX))
		return 0;
	state->samples++;
	if (is_executable(state, ip))
		return 0;
	state->nowhere++;
	return jp_findings_count_failure(&view->findings, "samples.nowhere", "not-executable",
					 "at %" PRIu64 ", %u/%u: nothing executable is at %" PRIx64,
					 event->time, event->pid, event->tid, ip);
}

static int end(struct jp_view *view, struct jp_error *err)
{
	const struct sample_places *state = view->state;

	jp_findings_add_rate(&view->findings, "samples.nowhere", state->nowhere, state->samples);
	jp_findings_add_with_role(
		&view->findings, &elsewhere,
		jp_metric_rate("kernel.elsewhere", state->nr_elsewhere, state->nr_samples));
	return 0;
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

	free(state->places);
	free(state->kernel);
}

static const struct jp_validator sample_places = {
	.name = "sample_places",
	.traits = JP_LACKS_RECORDS | JP_LACKS_NAMES | JP_LACKS_TASKS,
	.state_size = sizeof(struct sample_places),
	.begin = begin,
	.handle = handle_event,
	.end = end,
	.free = free_places,
};
JP_REGISTER(validator, sample_places);
