// SPDX-License-Identifier: GPL-2.0-only
#include "harness/judge/judge.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/path.h"
#include "harness/format/capture/capture_read.h"
#include "harness/judge/losses.h"

enum { JUDGEMENTS = 2 };

/* A validator while it judges one case. */
struct work {
	const struct jp_validator *validator;
	struct jp_view view;
	bool watches; /* the validator still receives events */
	bool failed;
	struct jp_error err; /* why the validator failed */
};

/* A run of all validators over a case's files. A control is judged twice: as it was recorded, and
 * with the events added that its capture left out. */
struct judge_side {
	struct work *works; /* the validators, sorted by name */
	size_t nr_works;
	struct jp_extras extras;
	size_t next_extra;
	struct jp_spans spans;
	struct jp_replay *spaces, *injected_spaces;
};

struct judging {
	const struct jp_evidence *evidence;
	struct jp_asked asked;
	struct jp_spans truth;
	struct jp_losses losses;
	struct judge_side sides[JUDGEMENTS];
	size_t nr_sides;
	bool in_injected;
	const struct jp_machine *machine; /* machine of the truth */
	const struct jp_perfdata_summary *summary;
	struct jp_perfdata_summary held_injected;
};

static void fail_judging(struct work *work)
{
	work->failed = true;
	work->watches = false;
}

/* Starts a validator, or records that it is skipped because the capture lacks what it needs. */
static int begin_work(struct work *work, uint32_t lacks)
{
	const struct jp_validator *validator = work->validator;
	int status = 0;

	if (lacks & ~validator->traits)
		return jp_findings_note_skipped_validator(&work->view.findings, validator->name,
							  jp_lack_text(lacks & ~validator->traits));
	work->view.state = calloc(1, validator->state_size ?: 1);
	if (!work->view.state)
		return -ENOMEM;
	if (validator->state_size)
		*(struct jp_view **)work->view.state = &work->view;
	if (validator->begin)
		status = validator->begin(&work->view, &work->err);
	work->watches = !status && validator->handle;
	work->failed = status < 0;
	return 0;
}

static int begin_judging_side(struct judging *judging, const struct jp_control *control)
{
	struct judge_side *side = &judging->sides[judging->nr_sides++];
	int failed = jp_extras_collect(&side->extras, judging->evidence, control);
	const struct jp_validator *validator = NULL;
	size_t count = 0;

	while ((validator = jp_registry_next(JP_VALIDATOR, validator)))
		count++;
	side->works = calloc(count, sizeof(*side->works));
	side->spaces = jp_replay_new();
	side->injected_spaces = jp_replay_new();
	if (failed || !side->works || !side->spaces || !side->injected_spaces)
		return -ENOMEM;
	while ((validator = jp_registry_next(JP_VALIDATOR, validator))) {
		struct work *work = &side->works[side->nr_works++];

		work->validator = validator;
		work->view = (struct jp_view){.evidence = judging->evidence,
					      .asked = &judging->asked,
					      .added_back = control,
					      .truth = &judging->truth,
					      .recorded = &side->spans,
					      .summary = judging->summary,
					      .injected_summary = &judging->held_injected,
					      .machine = judging->machine,
					      .spaces = side->spaces};
		if (begin_work(work, judging->evidence->declared.lacking))
			return -ENOMEM;
	}
	return 0;
}

/* Applies @event in three steps: the validators judge the time until the event, the address spaces
 * change, and each validator handles the event. */
static int apply_event(struct judging *judging, struct judge_side *side,
		       const struct jp_event *event)
{
	struct jp_replay *spaces = judging->in_injected ? side->injected_spaces : side->spaces;
	int failed = 0;

	for (struct work *work = side->works; work < side->works + side->nr_works; work++)
		if (work->watches && work->validator->advance_to &&
		    work->validator->advance_to(&work->view, event->time))
			fail_judging(work);
	if (event->type != JP_EVENT_SAMPLE)
		failed = jp_replay_apply(spaces, event);
	if (!failed && !judging->in_injected)
		failed = jp_spans_apply_event(&side->spans, spaces, event);
	for (struct work *work = side->works; !failed && work < side->works + side->nr_works;
	     work++)
		if (work->watches && work->validator->handle(&work->view, event))
			fail_judging(work);
	return failed;
}

/* Returns @event in the form of an observation: its first user address becomes the sampled
 * address. */
static const struct jp_event *drop_registers(const struct jp_event *event, struct jp_event *copy)
{
	static const struct jp_observed observed = {.weight = 1};
	const uint64_t *user;
	uint64_t count;

	if (event->type != JP_EVENT_SAMPLE || event->observed)
		return event;
	*copy = *event;
	copy->observed = &observed;
	count = jp_event_user_chain(event, &user);
	if (!event->sample.user && count) {
		copy->sample.user = true;
		copy->sample.ip = *user;
	}
	return copy;
}

static int handle_event(void *context, const struct jp_event *event)
{
	struct judging *judging = context;
	const struct jp_listener *listener = judging->asked.listener;
	struct jp_event copy;
	int failed = 0;

	if (event->type == JP_EVENT_BUILD_ID)
		return 0;
	if (judging->evidence->declared.lacking & JP_LACKS_REGISTERS)
		event = drop_registers(event, &copy);
	if (!judging->in_injected)
		jp_losses_count_event(&judging->losses, event);
	if (listener && !judging->in_injected)
		failed = listener->handle(listener->context, judging->evidence, event);
	for (size_t i = 0; !failed && i < judging->nr_sides; i++) {
		struct judge_side *side = &judging->sides[i];
		const struct jp_extras *extras = &side->extras;

		while (!failed && side->next_extra < extras->count &&
		       extras->events[side->next_extra].time <= event->time)
			failed = apply_event(judging, side, &extras->events[side->next_extra++]);
		if (!failed)
			failed = apply_event(judging, side, event);
	}
	return failed;
}

/* Reads file @name of the case folder; NULL: the capture itself. */
static int read_file(struct judging *judging, const char *name, struct jp_perfdata_summary *summary,
		     struct jp_error *err)
{
	const char *dir = judging->evidence->dir;
	char path[4096];
	int failed = name ? jp_path_build(path, sizeof(path), err, "%s/%s", dir, name)
			  : jp_capture_path(dir, path, sizeof(path), err);

	*err = (struct jp_error){""};
	/* The capture must not be a FIFO, for which the reader would wait. */
	if (!failed)
		failed = jp_capture_check(path, err);
	if (!failed)
		failed = jp_capture_read(path, handle_event, judging, summary, err);
	if (failed && !*err->text)
		jp_fail(err, ENOMEM, "%s: out of memory", dir);
	return failed;
}

/* Ends the validators that do not need injected.data. */
static void end_file(struct judging *judging)
{
	for (struct judge_side *side = judging->sides; side < judging->sides + judging->nr_sides;
	     side++) {
		for (size_t i = 0; i < side->nr_works; i++) {
			struct work *work = &side->works[i];

			if (!work->watches || (!judging->in_injected && judging->asked.injected &&
					       work->validator->traits & JP_WANTS_INJECTED))
				continue;
			work->failed = work->validator->end(&work->view, &work->err);
			work->watches = false;
		}
	}
}

/* Reads injected.data for the validators that need it. A failure to read it affects only those
 * validators. */
static void read_injected_file(struct judging *judging)
{
	struct jp_error err;
	int failed;

	judging->in_injected = true;
	for (struct judge_side *side = judging->sides; side < judging->sides + judging->nr_sides;
	     side++) {
		side->next_extra = 0;
		for (size_t i = 0; i < side->nr_works; i++) {
			side->works[i].view.spaces = side->injected_spaces;
			side->works[i].view.in_injected = true;
		}
	}
	failed = read_file(judging, "injected.data", &judging->held_injected, &err);
	for (struct judge_side *side = judging->sides;
	     failed && side < judging->sides + judging->nr_sides; side++) {
		for (size_t i = 0; i < side->nr_works; i++) {
			if (side->works[i].watches) {
				fail_judging(&side->works[i]);
				side->works[i].err = err;
			}
		}
	}
	end_file(judging);
}

/* Collects the findings of all validators, in the order of their names. If several validators
 * failed, stores the error of the first. */
static int collect_findings(struct judge_side *side, struct jp_findings *findings)
{
	for (struct work *work = side->works; work < side->works + side->nr_works; work++) {
		const char *error = work->failed ? work->err.text : work->view.findings.error;
		const bool outranks = work->view.findings.contradicted && !findings->contradicted;

		if (jp_findings_append(findings, &work->view.findings))
			return -ENOMEM;
		findings->contradicted |= outranks;
		if ((work->failed || *error) && (outranks || !*findings->error))
			snprintf(findings->error, sizeof(findings->error), "%s: %s",
				 work->validator->name, error);
	}
	return 0;
}

static void free_side(struct judge_side *side)
{
	for (struct work *work = side->works; work < side->works + side->nr_works; work++) {
		if (work->view.state && work->validator->free)
			work->validator->free(work->view.state);
		free(work->view.state);
		jp_findings_free(&work->view.findings);
	}
	free(side->works);
	jp_extras_free(&side->extras);
	jp_spans_free(&side->spans);
	jp_replay_free(side->spaces);
	jp_replay_free(side->injected_spaces);
}

static int judge_sides(struct judging *judging, const struct jp_control *control,
		       struct jp_judgement *judgement, struct jp_error *err)
{
	const struct jp_evidence *evidence = judging->evidence;
	int failed;

	judging->machine = jp_machine_find(evidence->truth->e_machine);
	if (!judging->machine)
		return jp_fail(err, ENOTSUP, "%s/truth: this jitproof does not know machine %u",
			       evidence->dir, evidence->truth->e_machine);
	failed = jp_spans_collect_from_truth(evidence->truth, &judging->truth)
			 ?: begin_judging_side(judging, NULL);
	if (!failed && control)
		failed = begin_judging_side(judging, control);
	if (failed)
		return jp_fail(err, -failed, "%s: out of memory", evidence->dir);
	failed = read_file(judging, NULL, &judgement->file, err);
	if (failed)
		return failed;
	/* Without a control there is no second side, and sides[1] has no spans. */
	if (jp_spans_index(&judging->sides[0].spans) || jp_spans_index(&judging->sides[1].spans))
		return jp_fail(err, ENOMEM, "%s: out of memory", evidence->dir);
	end_file(judging);
	if (judging->asked.injected)
		read_injected_file(judging);
	judgement->info = evidence->info;
	jp_losses_add(&judging->losses, &judgement->info);
	failed = collect_findings(&judging->sides[0], &judgement->findings);
	if (!failed && control)
		failed = collect_findings(&judging->sides[1], &judgement->again);
	return failed ? jp_fail(err, ENOMEM, "%s: out of memory", evidence->dir) : 0;
}

int jp_judge(const struct jp_evidence *evidence, const struct jp_asked *asked,
	     const struct jp_control *control, struct jp_judgement *judgement, struct jp_error *err)
{
	struct judging judging = {
		.evidence = evidence, .asked = *asked, .summary = &judgement->file};
	int failed;

	memset(judgement, 0, sizeof(*judgement));
	if (!jp_registry_next(JP_VALIDATOR, NULL))
		return jp_fail(err, EINVAL, "no validator is registered: the build is broken");
	failed = judge_sides(&judging, control, judgement, err);
	for (size_t i = 0; i < judging.nr_sides; i++)
		free_side(&judging.sides[i]);
	jp_spans_free(&judging.truth);
	if (failed) {
		jp_findings_free(&judgement->findings);
		jp_findings_free(&judgement->again);
	}
	return failed;
}
