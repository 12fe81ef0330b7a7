// SPDX-License-Identifier: GPL-2.0-only
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/array.h"
#include "harness/explain/explainer.h"

/*
 * Code that runs and that no mapping record announces, and why none does: the record was lost, the
 * events were off, or the profiler did not ask for what was there before. Losses of samples, too.
 */
struct missing_records {
	uint64_t lost, lost_samples, first_loss; /* LOST, LOST_SAMPLES; the time of the first */
	struct unannounced {
		struct jp_image *image;
		uint64_t samples, first, last;
		uint64_t before_loss; /* samples of pages that were hit before the first loss */
		const struct jp_end *worst;
	} * list; /* one for each image that has any */
	size_t count, capacity;
	struct jp_map at; /* index + 1, by the image's address */
	bool reads_anon;  /* the profiler knew some emitted code from before the recording */
};

static int begin(struct jp_explain_view *view, struct jp_error *err)
{
	view->state = calloc(1, sizeof(struct missing_records));
	return view->state ? 0 : jp_fail(err, ENOMEM, "no memory");
}

static void free_state(void *context)
{
	struct missing_records *state = context;

	if (!state)
		return;
	free(state->list);
	jp_map_free(&state->at);
	free(state);
}

static int see(struct jp_explain_view *view, const struct jp_event *event,
	       const struct jp_stack *stack)
{
	struct missing_records *state = view->state;

	(void)stack;
	if (event->type != JP_EVENT_LOST && event->type != JP_EVENT_LOST_SAMPLES)
		return 0;
	if (!state->first_loss)
		state->first_loss = event->time;
	if (event->type == JP_EVENT_LOST)
		state->lost += event->lost.lost;
	else
		state->lost_samples += event->lost.lost;
	return 0;
}

static int add(struct missing_records *state, const struct jp_end *end)
{
	size_t *at = jp_map_at(&state->at, (uintptr_t)end->image, sizeof(*at));
	struct unannounced *one;

	if (!at)
		return -ENOMEM;
	if (!*at) {
		one = jp_array_push(&state->list, &state->count, &state->capacity);
		if (!one)
			return -ENOMEM;
		*at = state->count;
		one->image = end->image;
		one->first = end->time;
	}
	one = &state->list[*at - 1];
	one->samples += end->samples;
	one->before_loss += end->time < state->first_loss ? end->samples : 0;
	one->first = end->time < one->first ? end->time : one->first;
	if (!one->worst || end->samples > one->worst->samples)
		one->worst = end;
	return 0;
}

/* Whether nothing of what the process runs is known: not even its program and its libraries. */
static bool knows_nothing(const struct jp_image *image)
{
	enum { FEW = 10 };

	return image->known * FEW < image->samples;
}

/* perf reads every executable line of /proc/PID/maps, unless it is told not to. */
static bool reads_all(const struct jp_explain_view *view, const struct missing_records *state)
{
	return state->reads_anon || isdigit((unsigned char)view->summary->version[0]);
}

static const char *cause_of(const struct jp_explain_view *view, const struct missing_records *state,
			    const struct unannounced *one)
{
	const struct jp_image *image = one->image;

	if (state->first_loss && state->lost && one->before_loss * 2 < one->samples)
		return "lost-records";
	if (knows_nothing(image) && (image->libc || image->program))
		return "exec-while-disabled";
	if (image->exec || (image->synthesized && reads_all(view, state)))
		return "attach-window";
	return "older-code";
}

static void describe(struct jp_explain_view *view, const struct missing_records *state,
		     const struct unannounced *one, struct jp_blame *blame)
{
	const struct jp_image *image = one->image;
	const char *id = blame->cause->id;

	jp_blame_evidence(
		blame,
		"%" PRIu64 " samples of %" PRIu64 " run code in no mapping, most of them at "
		"%" PRIx64 ": perf script -i %s --show-mmap-events --pid %u has no record of it",
		one->samples, image->samples, one->worst->addr, view->path, image->pid);
	jp_blame_evidence(blame,
			  "first at time %" PRIu64 ".%09" PRIu64
			  ", tid %u; recording began at %" PRIu64 ".%09" PRIu64,
			  one->worst->time / 1000000000, one->worst->time % 1000000000,
			  one->worst->tid, view->ends->first_sample / 1000000000,
			  view->ends->first_sample % 1000000000);
	if (strcmp(id, "lost-records") == 0) {
		jp_blame_evidence(blame,
				  "%" PRIu64 " records were lost, the first by time %" PRIu64
				  ".%09" PRIu64,
				  state->lost, state->first_loss / 1000000000,
				  state->first_loss % 1000000000);
		jp_blame_remedy(blame,
				"perf record -m 16M, a lower frequency (-F), and no -a where "
				"one process will do");
	} else if (strcmp(id, "exec-while-disabled") == 0) {
		jp_blame_evidence(blame,
				  "%" PRIu64
				  " of its samples lie in a known mapping, of libraries too: "
				  "the mappings are those of another program",
				  image->known);
		jp_blame_remedy(blame, "enable the events before the exec, or attach afterwards: "
				       "perf record -p PID");
	} else if (strcmp(id, "attach-window") == 0) {
		jp_blame_evidence(blame, image->exec ? "its exec was recorded, and mapping records "
						       "since then: the events "
						       "were off for a while, or mremap moved the "
						       "code, of which there is no record"
						     : "what it had mapped before is known, "
						       "emitted code too where there was any");
		jp_blame_remedy(
			blame,
			"start the recording before the process, or attach when it has warmed up "
			"and without a delay; jitproof record -p PID");
	} else {
		jp_blame_evidence(
			blame,
			image->synthesized
				? "files that it had mapped before are known, and no anonymous "
				  "memory is: "
				  "the profiler skipped lines of /proc/PID/maps without a path"
				: "nothing that it had mapped before is known: the profiler did "
				  "not read /proc/PID/maps");
		jp_blame_remedy(blame, "jitproof record -p PID, or perf record -p PID (without "
				       "--synth), reads every executable mapping; "
				       "or start the recording before the process");
	}
}

static int blame_unannounced(struct jp_explain_view *view, const struct missing_records *state,
			     const struct unannounced *one)
{
	struct jp_blame *blame = jp_blame(view->blames, cause_of(view, state, one), one->image->pid,
					  one->image->process, NULL, one->samples);

	if (!blame)
		return -ENOMEM;
	for (size_t i = 0; i < view->ends->count; i++) {
		const struct jp_end *end = &view->ends->list[i];

		if (end->image == one->image &&
		    (end->kind == JP_END_UNMAPPED || end->kind == JP_END_CALLER))
			jp_blame_range(blame, end->start, end->end);
	}
	describe(view, state, one, blame);
	return 0;
}

/* Of a kernel that tells of both, either counts the same events. */
static int blame_losses(struct jp_explain_view *view, const struct missing_records *state)
{
	const uint64_t lost = state->lost > state->lost_samples ? state->lost : state->lost_samples;
	struct jp_blame *blame;

	if (!lost)
		return 0;
	blame = jp_blame(view->blames, "lost-samples", 0, "", NULL, lost);
	if (!blame)
		return -ENOMEM;
	blame->absent = lost;
	jp_blame_evidence(blame,
			  "LOST records tell of %" PRIu64 " events, LOST_SAMPLES of %" PRIu64
			  ": perf report -i %s --stats",
			  state->lost, state->lost_samples, view->path);
	jp_blame_evidence(blame, "the first loss was known at time %" PRIu64 ".%09" PRIu64,
			  state->first_loss / 1000000000, state->first_loss % 1000000000);
	jp_blame_evidence(blame, "the %" PRIu64 " samples that are there are right", view->samples);
	jp_blame_remedy(blame, "perf record -m 16M, a lower frequency (-F), smaller stack dumps");
	return 0;
}

static int end(struct jp_explain_view *view, struct jp_error *err)
{
	struct missing_records *state = view->state;
	bool loss_explains = false;
	int ret = 0;

	for (size_t i = 0; i < view->ends->nr_images; i++)
		state->reads_anon |= view->ends->all[i]->anon_before;
	for (size_t i = 0; i < view->ends->count && !ret; i++) {
		const struct jp_end *end = &view->ends->list[i];

		if (end->kind == JP_END_UNMAPPED || end->kind == JP_END_CALLER)
			ret = add(state, end);
	}
	for (size_t i = 0; i < state->count && !ret; i++) {
		ret = blame_unannounced(view, state, &state->list[i]);
		loss_explains |=
			strcmp(cause_of(view, state, &state->list[i]), "lost-records") == 0;
	}
	if (!ret && !loss_explains)
		ret = blame_losses(view, state);
	return ret ? jp_fail(err, -ret, "no memory") : 0;
}

static const struct jp_explainer missing_records = {
	.name = "records",
	.begin = begin,
	.see = see,
	.end = end,
	.free = free_state,
};
JP_REGISTER(explainer, missing_records);
