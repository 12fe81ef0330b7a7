/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>

#include "harness/judge/validator.h"

static size_t exceptions;         /* number of exceptions of the last judge() */
static uint64_t exception_counts; /* sum of the counts of these exceptions */
static char exception_text[1024]; /* text of the first of these exceptions, or "" */
static char judged_error[1024];   /* reason of an ERROR of the case, or "" */

/* Initializer of a truth with @count acts and one process image. */
#define TRUTH_OF_ACTS(made_acts, count, image)                                                     \
	{                                                                                          \
		.version = 3, .acts = made_acts, .nr_acts = count, .incarnations = &(image),       \
		.nr_incarnations = 1                                                               \
	}

/* Indexes the acts of @truth by address and by process. */
__attribute__((unused)) static void index_truth(struct jp_truth *truth)
{
	if (jp_acts_at_index(&truth->acts_at, truth->acts, truth->nr_acts) ||
	    jp_acts_of_index(&truth->acts_of, truth->acts, truth->nr_acts))
		exit(99);
}

__attribute__((unused)) static void free_truth_index(struct jp_truth *truth)
{
	jp_acts_at_free(&truth->acts_at);
	jp_acts_of_free(&truth->acts_of);
}

/* Judges @count @events by the validator @metric_name. Returns its metric @name, or {.k =
 * UINT64_MAX} if the validator does not report it. Sets the variables above. */
static struct jp_metric judge(const char *metric_name, const struct jp_evidence *evidence,
			      const struct jp_event *events, size_t count, const char *name)
{
	static const struct jp_asked asked_names = {.names = true};
	const struct jp_validator *validator = jp_registry_find(JP_VALIDATOR, metric_name);
	struct jp_spans truth = {0}, spans = {0};
	struct jp_perfdata_summary summary = {0};
	struct jp_view view = {.evidence = evidence,
			       .asked = &asked_names,
			       .truth = &truth,
			       .recorded = &spans,
			       .machine = jp_machine_find(EM_X86_64),
			       .spaces = jp_replay_new(),
			       .summary = &summary};
	struct jp_metric result = {.k = UINT64_MAX};
	const struct jp_metric *metric;
	struct jp_error err = {""};
	int failed;

	if (!validator || !view.spaces)
		exit(99);
	view.state = calloc(1, validator->state_size ?: 1);
	if (!view.state)
		exit(99);
	if (validator->state_size)
		*(struct jp_view **)view.state = &view;
	failed = jp_spans_collect_from_truth(evidence->truth, &truth);
	if (!failed && validator->begin)
		failed = validator->begin(&view, &err);
	for (size_t i = 0; i < count && !failed; i++) {
		summary.samples += events[i].type == JP_EVENT_SAMPLE;
		failed = validator->advance_to ? validator->advance_to(&view, events[i].time) : 0;
		failed = failed ?: jp_replay_apply(view.spaces, &events[i]);
		failed = failed ?: jp_spans_apply_event(&spans, view.spaces, &events[i]);
		failed = failed ?: validator->handle(&view, &events[i]);
	}
	failed = failed ?: jp_spans_index(&spans) ?: validator->end(&view, &err);
	metric = failed ? NULL : jp_findings_find_metric(&view.findings, name);
	if (metric)
		result = *metric;
	exceptions = view.findings.nr_exceptions;
	exception_counts = 0;
	for (size_t i = 0; i < view.findings.nr_exceptions; i++)
		exception_counts += view.findings.exceptions[i].count;
	snprintf(exception_text, sizeof(exception_text), "%s",
		 exceptions ? view.findings.exceptions[0].example : "");
	snprintf(judged_error, sizeof(judged_error), "%s", view.findings.error);
	if (validator->free)
		validator->free(view.state);
	free(view.state);
	jp_findings_free(&view.findings);
	jp_spans_free(&spans);
	jp_spans_free(&truth);
	jp_replay_free(view.spaces);
	return result;
}
