// SPDX-License-Identifier: GPL-2.0-only
#include <inttypes.h>

#include "harness/explain/explainer.h"

/* Counts of samples, to find recordings of the kernel only, or without user parts of callchains. */
struct kernel_only {
	uint64_t samples, chains;
	uint64_t user, user_chains; /* samples in user space; samples with a chain's user part */
};

static int handle_event(struct jp_explain_view *view, const struct jp_event *event,
			const struct jp_stack *stack)
{
	struct kernel_only *state = view->state;
	const struct jp_event_asked *asked = event->asked;

	if (!stack || !asked)
		return 0;
	state->user += event->sample.user;
	state->user_chains += stack->count > 0;
	state->samples += !asked->user;
	state->chains += asked->user && asked->chain && !asked->user_chain && !asked->stack;
	return 0;
}

static int blame_events(struct jp_explain_view *view, struct jp_error *err)
{
	const struct kernel_only *state = view->state;
	struct jp_blame *blame;

	if (!state->samples && !state->chains)
		return 0;
	blame = jp_blame(view->blames, "kernel-only", 0, "", NULL, state->samples + state->chains);
	jp_blame_evidence(blame,
			  "%" PRIu64 " of %" PRIu64
			  " samples are of events with exclude_user, %" PRIu64
			  " with exclude_callchain_user: perf evlist -v -i %s",
			  state->samples, view->samples, state->chains, view->path);
	jp_blame_evidence(blame, "%" PRIu64 " samples were taken in user space", state->user);
	jp_blame_evidence(blame,
			  "%" PRIu64 " samples have an address of user space: perf script -i %s",
			  state->user_chains, view->path);
	jp_blame_remedy(blame, "record without --all-kernel, --kernel-callchains and :k, for "
			       "example: perf record -g -p PID");
	return 0;
}

JP_DEFINE(explainer, kernel_only) = {
	.name = "kernel-only",
	.state_size = sizeof(struct kernel_only),
	.handle = handle_event,
	.end = blame_events,
};
