// SPDX-License-Identifier: GPL-2.0-only
/* Named stacks: judges stacks of a profiler that keeps names but no addresses. A frame is an
 * emitted function or native code, which may have any name. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "harness/base/order.h"
#include "harness/format/observations/declared.h"
#include "harness/judge/validator.h"
#include "validators/frame_names.h"
#include "validators/sample_class.h"
#include "validators/two_clocks.h"
#include "validators/stack_counts.h"
#include "validators/stack_verdict.h"

enum { FRAMES = JP_FRAME_MOST };

static const struct jp_role named_samples = {.column = "right"};
static const struct jp_role named_callers = {.column = "right"};
static const struct jp_role misnamed_samples = {.column = "wrong"};
/* Samples that no thread can have produced. */
static const struct jp_role impossible = {.column = "invented"};
/* Usual share of native code among samples in paths. Names do not distinguish handlers
 * (JP_SAMPLE_BELOW) from code that the truth does not cover (JP_SAMPLE_ASTRAY). */
static const double USUAL = JP_SAMPLE_ASTRAY_USUAL + JP_SAMPLE_BELOW_USUAL;

struct named_stacks {
	struct jp_view *view;
	struct jp_frame_names names;
	struct jp_truth_stack truth;
	struct jp_stack_counts counts;
	uint64_t misnamed; /* samples named after a function in which the thread was not */
	uint64_t unnamed, stackless;
	uint64_t samples, unwatched; /* all samples; those of processes that never existed */
	uint64_t callers,
		nameless; /* emitted callers in complete stacks; emitted callers without a name */
	uint64_t nr_renamed; /* samples in a path, with native names only */
	uint64_t nr_astray; /* samples in a path, with a native innermost name and an emitted caller
			     */
	uint64_t time;
	uint32_t pid, nr_seen, nr_must;
	uint64_t recorded[FRAMES], must[FRAMES], complete[FRAMES];
};

/* Stores the name numbers of up to FRAMES of @frames in @numbers. Returns how many it stored. */
static uint32_t number_frames(struct named_stacks *stacks, const uint64_t *frames, uint32_t count,
			      uint64_t *numbers)
{
	count = jp_min(count, FRAMES);
	jp_frame_get_name_numbers(&stacks->names, stacks->pid, stacks->time, frames, count,
				  numbers);
	return count;
}

/* Returns the verdict of the current sample against the true stack @truth. */
static enum jp_verdict compare_with_truth(void *context, const struct jp_truth_stack *truth)
{
	struct named_stacks *stacks = context;
	uint32_t nr_whole = number_frames(stacks, truth->frames, truth->nr_whole, stacks->complete);

	stacks->nr_must =
		number_frames(stacks, truth->faithful ? truth->expected : truth->frames,
			      truth->faithful ? truth->nr_seen : truth->nr_whole, stacks->must);

	return jp_frame_verdict(stacks->recorded, stacks->nr_seen, stacks->must, stacks->nr_must,
				stacks->complete, nr_whole);
}

static void read_names(struct named_stacks *stacks, const struct jp_event *event)
{
	const struct jp_observed *observed = event->observed;

	stacks->time = event->time;
	stacks->pid = event->pid;
	stacks->nr_seen = 0;
	for (uint64_t i = 0; i < observed->nr_names && i < FRAMES; i++)
		stacks->recorded[stacks->nr_seen++] =
			jp_frame_get_name_number(&stacks->names, observed->names[i]);
}

static int report(struct named_stacks *stacks, const struct jp_event *event, const char *metric,
		  const char *cause, enum jp_verdict verdict)
{
	struct jp_exception *exception = jp_findings_count(
		&stacks->view->findings, metric, stacks->view->evidence->declared.method, cause);

	if (exception && exception->count == 1)
		snprintf(exception->example, sizeof(exception->example),
			 "%s at %" PRIu64 ", %u/%u in %.100s: %u frames seen, %u must be, equal up "
			 "to frame %u",
			 jp_verdict_text(verdict), event->time, event->pid, event->tid,
			 event->observed->names[0], stacks->nr_seen, stacks->nr_must,
			 jp_stack_count_same_frames(stacks->recorded, stacks->nr_seen, stacks->must,
						    stacks->nr_must));
	return exception ? 0 : -ENOMEM;
}

/* Counts emitted callers, and emitted callers without a name, in a complete stack. @frames: the
 * true frames, as many as the stack has. */
static void count_callers(struct named_stacks *stacks, const uint64_t *frames)
{
	for (uint32_t i = 1; i < stacks->nr_seen; i++) {
		const bool is_emitted = frames[i] >= JP_FRAME_FIRST;

		stacks->callers += is_emitted;
		stacks->nameless += is_emitted && stacks->recorded[i] == JP_FRAME_UNNAMED;
	}
}

/* Counts the verdict of @event and reports a bad one. @answer: result of the search for a true
 * stack. */
static int count_verdict(struct named_stacks *stacks, const struct jp_event *event,
			 enum jp_stack_answer answer)
{
	const enum jp_method method = stacks->view->evidence->declared.method;
	enum jp_verdict verdict = JP_WRONG;
	const char *metric, *cause;

	if (answer == JP_STACK_UNJUDGED) {
		stacks->counts.unjudged++;
		stacks->counts.methods[method].verdicts[JP_UNJUDGED]++;
		return 0;
	}
	if (answer == JP_STACK_FOUND)
		verdict = compare_with_truth(stacks, &stacks->truth);
	jp_stack_counts_verdict(&stacks->counts, method, verdict, 1);
	stacks->counts.methods[method].nr_predicted += verdict >= JP_GAP;
	if (verdict == JP_EXACT)
		count_callers(stacks, stacks->complete);
	else if (verdict == JP_GAP && stacks->nr_seen == stacks->nr_must)
		count_callers(stacks, stacks->must);
	stacks->misnamed += answer != JP_STACK_FOUND;
	if (answer != JP_STACK_FOUND)
		return report(stacks, event, "wrong",
			      answer == JP_STACK_NO_ACTIVATION ? "no-stay" : "no-depth", verdict);
	if (jp_stack_counts_place(
		    &stacks->counts,
		    stacks->truth.activation->path->functions[stacks->truth.depth]->id, 0))
		return -ENOMEM;
	metric = jp_stack_counts_metric(verdict, &cause);
	return metric ? report(stacks, event, metric, cause, verdict) : 0;
}

/* Returns whether the thread of @event was in a path whose functions all have names. */
static bool is_in_named_path(const struct jp_evidence *evidence, const struct jp_event *event)
{
	const uint64_t slack = evidence->info.slack;
	const struct jp_truth_path *path;

	if (!jp_truth_is_inside(evidence->truth, event->tid, event->time, slack))
		return false;
	path = jp_truth_activation_at(evidence->truth, NULL, event->tid, event->time - slack)->path;
	for (uint32_t i = 0; i < path->depth; i++)
		if (path->functions[i]->in_file)
			return false;
	return true;
}

/* Returns whether any frame is named after an emitted function. */
static bool has_emitted(const struct named_stacks *stacks)
{
	for (uint32_t i = 0; i < stacks->nr_seen; i++)
		if (stacks->recorded[i] >= JP_FRAME_FIRST)
			return true;
	return false;
}

/* Counts a sample whose innermost frame is no emitted function, if its thread was in a path. */
static int count_unnamed_sample(struct named_stacks *stacks, const struct jp_event *event)
{
	if (!is_in_named_path(stacks->view->evidence, event))
		return 0;
	stacks->counts.off_code++;
	if (stacks->nr_seen && stacks->recorded[0] != JP_FRAME_UNNAMED) {
		*(has_emitted(stacks) ? &stacks->nr_astray : &stacks->nr_renamed) += 1;
		return 0;
	}
	stacks->unnamed++;
	if (!stacks->view->asked->names)
		return 0;
	return jp_findings_count_failure(&stacks->view->findings, "names.unnamed", "no-name",
					 "at %" PRIu64
					 ", %u/%u: %u frames, and no name of the innermost",
					 event->time, event->pid, event->tid, stacks->nr_seen);
}

static int handle_event(struct jp_view *view, const struct jp_event *event)
{
	struct named_stacks *stacks = view->state;
	const struct jp_evidence *evidence = view->evidence;

	if (event->type != JP_EVENT_SAMPLE)
		return 0;
	stacks->samples++;
	if (!jp_sample_is_watched(evidence, event->pid, UINT64_MAX)) {
		stacks->unwatched++;
		return 0;
	}
	if (jp_sample_has_no_frame(evidence, event)) {
		stacks->stackless++;
		return jp_stack_counts_stackless(&stacks->counts, view, event);
	}
	read_names(stacks, event);
	if (!stacks->nr_seen || stacks->recorded[0] < JP_FRAME_FIRST)
		return count_unnamed_sample(stacks, event);
	stacks->counts.samples++;
	return count_verdict(
		stacks, event,
		jp_stack_guess_best_fit(evidence, event, evidence->declared.method,
					(struct jp_truth_guess){.name = event->observed->names[0]},
					compare_with_truth, stacks, &stacks->truth));
}

/* Returns @count if its share of @n exceeds the usual share beyond chance, else 0. */
static uint64_t get_unusual_count(uint64_t count, uint64_t n, double usual_share)
{
	return n && jp_metric_rate("", count, n).lo > usual_share ? count : 0;
}

/* Returns @count if its share of the samples in paths exceeds USUAL beyond chance, else 0. */
static uint64_t count_unusual_in_paths(const struct named_stacks *stacks, uint64_t count)
{
	return get_unusual_count(count,
				 jp_max(stacks->counts.samples + stacks->counts.off_code,
					jp_clock_count_expected_samples(stacks->view->evidence)),
				 USUAL);
}

/* Adds the metrics. Native names in paths count as unnamed if they are more frequent than usual. */
static int end(struct jp_view *view, struct jp_error *err)
{
	struct named_stacks *stacks = view->state;
	const uint64_t renamed = count_unusual_in_paths(stacks, stacks->nr_renamed);
	const uint64_t nr_astray = count_unusual_in_paths(stacks, stacks->nr_astray);
	const uint64_t unwatched = view->evidence->declared.system_wide
					   ? 0
					   : get_unusual_count(stacks->unwatched, stacks->samples,
							       JP_SAMPLE_UNWATCHED_USUAL);
	uint64_t nr_named = stacks->counts.samples - stacks->stackless;
	uint64_t total = nr_named + stacks->unnamed + renamed;
	uint64_t nr_right = nr_named - stacks->misnamed;
	int failed = jp_stack_counts_add(&stacks->counts, view);

	if (!failed && nr_astray)
		failed = jp_findings_count_failure(&view->findings, "samples", "astray",
						   "%" PRIu64
						   " stacks with emitted code have a native "
						   "function innermost",
						   nr_astray);
	if (!failed && unwatched)
		failed = jp_findings_count_failure(&view->findings, "samples", "unwatched",
						   "%" PRIu64 " of %" PRIu64 " samples are of "
						   "processes that did not exist",
						   unwatched, stacks->samples);
	jp_findings_add_role_count(&view->findings, &impossible, "samples.impossible",
				   nr_astray + unwatched);
	if (failed || !view->asked->names)
		return failed;
	if (renamed)
		failed =
			jp_findings_count_failure(&view->findings, "names.unnamed", "other-name",
						  "%" PRIu64 " stacks of threads in a path have no "
						  "emitted function's name",
						  renamed);
	jp_findings_add_role_rate(&view->findings, &named_samples, "names.right", nr_right, total);
	jp_findings_add_role_rate(&view->findings, &named_callers, "callers.right",
				  stacks->callers - stacks->nameless, stacks->callers);
	jp_findings_add_role_rate(&view->findings, &misnamed_samples, "names.wrong",
				  stacks->misnamed, total);
	jp_findings_add_rate(&view->findings, "names.unnamed", stacks->unnamed + renamed, total);
	return failed;
}

static int begin(struct jp_view *view, struct jp_error *err)
{
	const struct jp_evidence *evidence = view->evidence;
	struct named_stacks *stacks = view->state;

	if (!(evidence->declared.lacking & JP_LACKS_ADDRESSES))
		return 1;
	if (jp_stack_counts_init(&stacks->counts, evidence))
		return -ENOMEM;
	return jp_frame_names_init(&stacks->names, evidence->truth);
}

static void free_stacks(void *state)
{
	struct named_stacks *stacks = state;

	jp_truth_stack_free(&stacks->truth);
	jp_stack_counts_free(&stacks->counts);
	jp_frame_names_free(&stacks->names);
}

JP_DEFINE(validator, named_stacks) = {
	.name = "named_stacks",
	.traits = JP_LACKS_ALL & ~(JP_LACKS_TIME | JP_LACKS_THREADS),
	.state_size = sizeof(struct named_stacks),
	.begin = begin,
	.handle = handle_event,
	.end = end,
	.free = free_stacks,
};
