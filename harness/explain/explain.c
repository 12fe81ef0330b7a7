// SPDX-License-Identifier: GPL-2.0-only
#include "harness/explain/explain.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "harness/base/registry.h"
#include "harness/base/shortage.h"
#include "harness/explain/explainer.h"
#include "harness/format/capture/capture_read.h"
#include "harness/format/perfdata/read.h"
#include "harness/model/files/file_finder.h"

enum { MOST_EXPLAINERS = 64 };

/* State of reading a file. */
struct explain_reading {
	struct jp_explanation *explanation;
	const struct jp_explain_options *options;
	struct jp_replay *spaces;
	struct jp_ends *ends;
	struct jp_file_finder *finder;
	struct jp_changed_files *changed;
	struct jp_names *names;
	const struct jp_explainer *explainers[MOST_EXPLAINERS];
	struct jp_explain_view views[MOST_EXPLAINERS];
	size_t count; /* number of explainers whose begin() has been called */
};

static int begin_explainers(struct explain_reading *reading, const char *path, struct jp_error *err)
{
	const struct jp_explainer *explainer = NULL;

	while ((explainer = jp_registry_next(JP_EXPLAINER, explainer))) {
		struct jp_explain_view *view = &reading->views[reading->count];
		int ret;

		if (reading->count == MOST_EXPLAINERS)
			return jp_fail(err, E2BIG, "more than %d explainers", MOST_EXPLAINERS);
		*view = (struct jp_explain_view){
			.path = path,
			.spaces = reading->spaces,
			.finder = reading->finder,
			.changed = reading->changed,
			.names = reading->names,
			.ends = reading->ends,
			.summary = &reading->explanation->summary,
			.blames = &reading->explanation->blames,
		};
		reading->explainers[reading->count++] = explainer;
		if (explainer->state_size && !(view->state = calloc(1, explainer->state_size)))
			return jp_fail(err, ENOMEM, "out of memory");
		ret = explainer->begin ? explainer->begin(view, err) : 0;
		if (ret)
			return ret;
	}
	return 0;
}

static bool has_dump_without_registers(const struct jp_event *sample)
{
	return sample->sample.stack && !sample->sample.regs && sample->sample.regs_abi &&
	       !(sample->asked && sample->asked->user_chain);
}

static int handle_event(void *context, const struct jp_event *event)
{
	const bool sample = event->type == JP_EVENT_SAMPLE;
	struct explain_reading *reading = context;
	struct jp_stack stack;
	int ret = jp_file_finder_add_build_id(reading->finder, event)
			  ?: jp_ends_handle(reading->ends, event, &stack);

	if (!ret && reading->options->handle)
		ret = reading->options->handle(reading->options->context, reading->spaces,
					       reading->names, event, sample ? &stack : NULL);
	reading->explanation->unknown_stacks += sample && has_dump_without_registers(event);
	for (size_t i = 0; i < reading->count && !ret; i++) {
		reading->views[i].samples += sample;
		if (reading->explainers[i]->handle)
			ret = reading->explainers[i]->handle(&reading->views[i], event,
							     sample ? &stack : NULL);
	}
	return ret;
}

static int rank_causes(struct jp_explanation *explanation, struct jp_error *err)
{
	explanation->causes = jp_blames_rank(&explanation->blames, explanation->summary.samples,
					     &explanation->nr_causes);
	if (!explanation->causes || explanation->blames.failed)
		return jp_fail(err, ENOMEM, "out of memory");
	/* Causes differ in the number of all samples (with absent ones), so that one of two equal
	 * shares may be certain and the other uncertain: check each cause. */
	for (size_t i = 0; i < explanation->nr_causes; i++) {
		struct jp_blamed *first = &explanation->causes[explanation->nr_accused];
		const struct jp_blamed one = explanation->causes[i];

		if (!jp_answers_accuse(explanation, one.samples, one.absent))
			continue;
		memmove(first + 1, first, (size_t)(&explanation->causes[i] - first) * sizeof(one));
		*first = one;
		explanation->nr_accused++;
	}
	return jp_answers_find(explanation) ? jp_fail(err, ENOMEM, "out of memory") : 0;
}

static int read_and_explain(struct explain_reading *reading, const char *path, bool partial,
			    struct jp_error *err)
{
	int ret = begin_explainers(reading, path, err);

	if (!ret)
		ret = jp_perfdata_read(path, handle_event, reading, &reading->explanation->summary,
				       err);
	/* A file that its writer never completed is no error: a cause explains it. */
	if (ret == -EINVAL && reading->explanation->summary.unwritten)
		ret = 0;
	ret = jp_capture_accept_partial(ret, &reading->explanation->summary, partial, err);
	for (size_t i = 0; i < reading->count && !ret; i++)
		if (reading->explainers[i]->end)
			ret = reading->explainers[i]->end(&reading->views[i], err);
	if (!ret && reading->options->name)
		ret = reading->options->name(reading->options->context, reading->names);
	if (!ret)
		ret = rank_causes(reading->explanation, err);
	if (ret && !*err->text)
		return jp_fail(err, -ret, "%s: %s", path, strerror(-ret));
	return ret ?: jp_shortage_describe(err->text, sizeof(err->text));
}

/* Returns the time at which the file @path was last written; 0: unknown. */
static struct timespec get_write_time(const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISREG(st.st_mode) ? st.st_mtim : (struct timespec){0};
}

int jp_explain(const char *path, const struct jp_explain_options *options,
	       struct jp_explanation *explanation, struct jp_error *err)
{
	struct explain_reading reading = {
		.explanation = explanation,
		.options = options,
		.spaces = jp_replay_new(),
		.finder = jp_file_finder_new(),
	};
	int ret = -ENOMEM;

	*err = (struct jp_error){"out of memory"};
	if (reading.finder)
		reading.names = jp_names_new(reading.finder);
	if (reading.spaces && reading.names)
		reading.changed =
			jp_changed_files_new(reading.spaces, reading.finder, get_write_time(path));
	if (reading.changed)
		reading.ends = jp_ends_new(reading.spaces, options->elf, reading.finder,
					   reading.changed, &explanation->summary);
	if (reading.ends)
		ret = jp_file_finder_open(reading.finder, options->elf, options->root, err);
	if (!ret) {
		*err = (struct jp_error){""};
		ret = read_and_explain(&reading, path, options->partial, err);
	}
	for (size_t i = 0; i < reading.count; i++) {
		if (reading.views[i].state && reading.explainers[i]->free)
			reading.explainers[i]->free(reading.views[i].state);
		if (reading.explainers[i]->state_size)
			free(reading.views[i].state);
	}
	jp_ends_free(reading.ends);
	jp_changed_files_free(reading.changed);
	jp_names_free(reading.names);
	jp_file_finder_free(reading.finder);
	jp_replay_free(reading.spaces);
	return ret;
}

bool jp_explain_healthy(const struct jp_explanation *explanation)
{
	return !explanation->nr_accused &&
	       explanation->unknown_stacks <= JP_EXPLAIN_ACCUSES * explanation->summary.samples;
}

void jp_explanation_free(struct jp_explanation *explanation)
{
	free(explanation->causes);
	for (size_t i = 0; i < JP_QUESTIONS; i++)
		free(explanation->answers[i].causes);
	jp_blames_free(&explanation->blames);
	*explanation = (struct jp_explanation){0};
}
