// SPDX-License-Identifier: GPL-2.0-only
/* Names in sums: some profilers count equal stacks and store no times. The name of each address in
 * such a stack must be that of a function that was at the address at any time. summed_stacks.c
 * judges the names of stacks without addresses. */
#include <inttypes.h>
#include <stdlib.h>

#include "harness/judge/validator.h"
#include "validators/frame_names.h"
#include "validators/sample_class.h"

struct summed_names {
	struct jp_view *view;
	struct jp_frame_names functions;
	uint64_t nr_emitted, nr_right, nr_unnamed; /* addresses in emitted code */
	uint64_t native, invented; /* addresses outside of emitted code; those with the name of an
				      emitted function */
};

static const struct jp_role right_names = {.column = "right"};
static const struct jp_role wrong_names = {.column = "wrong"};
static const struct jp_role invented_names = {.column = "wrong"};

/* Judges the name of @ip. @is_caller: @ip is not the innermost address, so it is usually a return
 * address. But if a signal interrupted a function at its first address, that address may have the
 * function's name. */
static int judge_name(struct summed_names *names, const struct jp_event *event, uint64_t ip,
		      bool is_caller, const char *name)
{
	const struct jp_truth *truth = names->view->evidence->truth;
	const uint64_t weight = event->observed->weight;
	const bool is_known =
		name && jp_frame_get_name_number(&names->functions, name) >= JP_FRAME_FIRST;
	const bool is_emitted = jp_truth_was_code_at(truth, event->pid, ip - is_caller, NULL);
	const bool is_right =
		name && (jp_truth_was_code_at(truth, event->pid, ip - is_caller, name) ||
			 jp_truth_was_code_at(truth, event->pid, ip, name));

	/* Code in files may have any name. */
	if (!is_known && jp_truth_was_file_code_at(truth, event->pid, ip - is_caller))
		return 0;
	if (is_emitted) {
		names->nr_emitted += weight;
		names->nr_right += is_right ? weight : 0;
		names->nr_unnamed += name ? 0 : weight;
	} else {
		names->native += weight;
	}
	if (is_right || (!is_emitted && !is_known))
		return 0;
	names->invented += is_emitted ? 0 : weight;
	return jp_findings_count_failure(
		&names->view->findings,
		!is_emitted ? "names.invented"
		: name      ? "names.wrong"
			    : "names.unnamed",
		!is_emitted ? "native"
		: name      ? "other-name"
			    : "no-name",
		"%" PRIu64 " samples of pid %u at %" PRIx64 "%s: %s%.100s", weight, event->pid, ip,
		is_emitted ? "" : ", in no emitted code", name ? "named " : "no name", name ?: "");
}

static int handle_event(struct jp_view *view, const struct jp_event *event)
{
	const uint64_t *user;
	size_t count = event->type == JP_EVENT_SAMPLE ? jp_event_user_chain(event, &user) : 0;
	int failed = 0;

	/* Another validator reports samples of processes that never existed. */
	if (!jp_sample_is_watched(view->evidence, event->pid, UINT64_MAX))
		return 0;
	for (size_t i = 0; i < count && !failed; i++)
		failed = judge_name(view->state, event, user[i], i, event->observed->names[i]);
	return failed;
}

static int end(struct jp_view *view, struct jp_error *err)
{
	const struct summed_names *names = view->state;
	struct jp_findings *findings = &view->findings;

	jp_findings_add_role_rate(findings, &right_names, "names.right", names->nr_right,
				  names->nr_emitted);
	jp_findings_add_role_rate(findings, &wrong_names, "names.wrong",
				  names->nr_emitted - names->nr_right - names->nr_unnamed,
				  names->nr_emitted);
	jp_findings_add_role_rate(findings, &invented_names, "names.invented", names->invented,
				  names->native);
	return 0;
}

static int begin(struct jp_view *view, struct jp_error *err)
{
	const struct jp_evidence *evidence = view->evidence;
	const uint32_t missing_parts = evidence->declared.lacking;
	struct summed_names *names = view->state;

	if (!(missing_parts & JP_LACKS_TIME) ||
	    missing_parts & (JP_LACKS_ADDRESSES | JP_LACKS_NAMES) || !view->asked->names)
		return 1;
	return jp_frame_names_init(&names->functions, evidence->truth);
}

static void free_names(void *state)
{
	struct summed_names *names = state;

	jp_frame_names_free(&names->functions);
}

JP_DEFINE(validator, summed_names) = {
	.name = "summed_names",
	.traits = JP_LACKS_ALL,
	.state_size = sizeof(struct summed_names),
	.begin = begin,
	.handle = handle_event,
	.end = end,
	.free = free_names,
};
