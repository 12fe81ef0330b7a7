// SPDX-License-Identifier: GPL-2.0-only
#include "harness/score/take_score.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "harness/base/array.h"
#include "harness/base/cleanup.h"
#include "harness/base/clock.h"
#include "harness/base/interrupt.h"
#include "harness/base/path.h"
#include "harness/capture/profilers.h"
#include "harness/score/scenes.h"

static bool is_own_capture(const struct jp_score_plan *plan)
{
	return !plan->profiler || strcmp(plan->profiler, "jitproof") == 0;
}

static struct jp_cases *make_scenes(const struct jp_score_plan *plan, struct jp_error *err)
{
	char options[64], keys[256];
	struct jp_score_way start_method = {
		.profiler = is_own_capture(plan) ? NULL : plan->profiler,
		.launches = plan->launches,
		.options = options,
		.keys = keys,
	};
	int size = snprintf(options, sizeof(options), "--freq=%u", plan->frequency);

	if (plan->stack)
		snprintf(options + size, sizeof(options) - (size_t)size, " --stack=%u",
			 plan->stack);
	snprintf(keys, sizeof(keys), "samples=%u distinct=1 seconds=%u publish=%.128s",
		 plan->samples, plan->seconds, plan->publish);
	return jp_score_scenes(&start_method, plan->lines, err);
}

int jp_score_choose_scenes(struct jp_score_plan *plan, const struct jp_operands *words,
			   struct jp_error *err)
{
	jp_cleanup_arguments struct jp_arguments names = {0};
	struct jp_cases *scenes = make_scenes(plan, err);

	if (!scenes)
		return -EINVAL;
	for (size_t i = 0; i < scenes->nr_cases; i++)
		jp_arguments_add(&names, "%s", jp_score_name(&scenes->cases[i]));
	jp_cases_free(scenes);
	return jp_globs_read(&plan->globs, words, &names, "scene", err);
}

static size_t count_wanted(const struct jp_score_plan *plan, const struct jp_cases *scenes)
{
	size_t count = 0;

	for (size_t i = 0; i < scenes->nr_cases; i++)
		count += jp_globs_match(&plan->globs, jp_score_name(&scenes->cases[i]));
	return count;
}

int jp_score_list(const struct jp_score_plan *plan, FILE *out, struct jp_error *err)
{
	struct jp_cases *scenes = make_scenes(plan, err);

	for (size_t i = 0; scenes && i < scenes->nr_cases; i++)
		if (jp_globs_match(&plan->globs, jp_score_name(&scenes->cases[i])))
			fprintf(out, "%s\n", jp_score_name(&scenes->cases[i]));
	if (!scenes)
		return -EINVAL;
	jp_cases_free(scenes);
	return 0;
}

static uint64_t get_own_cpu(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return jp_clock_from_timeval(usage.ru_utime) + jp_clock_from_timeval(usage.ru_stime);
}

/* Returns the CPU time of the profiler, in ns, as its adapter recorded it. */
static uint64_t read_profiler_cpu(const char *dir)
{
	size_t size;
	jp_cleanup_free char *text = jp_run_dir_read(dir, "cost", &size);
	uint64_t cpu;

	return text && sscanf(text, "profiler_cpu %" SCNu64, &cpu) == 1 ? cpu : UINT64_MAX;
}

static void run_case(const struct jp_score_plan *plan, const struct jp_runner *runner,
		     const struct jp_case *cas, struct jp_score_row *row)
{
	struct jp_run_dir dir;
	struct jp_error err = {""};
	char path[4096];
	uint64_t before, started;

	snprintf(dir.path, sizeof(dir.path), "%s", plan->dir);
	row->cas = cas;
	if (jp_run_dir_case(&dir, cas->name, path, sizeof(path), &err)) {
		row->result.outcome = JP_ERROR;
		snprintf(row->result.reasons, sizeof(row->result.reasons), "%s", err.text);
		return;
	}
	before = get_own_cpu();
	started = jp_clock_now();
	row->watched = jp_runner_run(runner, cas, path, &row->result);
	if (!row->watched)
		return;
	row->cpu = is_own_capture(plan) ? get_own_cpu() - before : read_profiler_cpu(path);
	row->watch = jp_clock_now() - started;
}

int jp_score_take(const struct jp_score_plan *plan, const struct jp_runner *runner,
		  struct jp_score *score, struct jp_error *err)
{
	int ret = 0;

	*score = (struct jp_score){.profiler = plan->profiler, .launches = plan->launches};
	snprintf(score->version, sizeof(score->version), "%s",
		 is_own_capture(plan) ? "itself" : "");
	snprintf(score->dir, sizeof(score->dir), "%s", plan->dir);
	if (!is_own_capture(plan))
		ret = jp_profiler_version(plan->profiler, score->version, sizeof(score->version),
					  err);
	if (!ret)
		score->scenes = make_scenes(plan, err);
	if (!ret && !score->scenes)
		return -EINVAL;
	for (size_t i = 0; !ret && i < score->scenes->nr_cases; i++) {
		const struct jp_case *scene = &score->scenes->cases[i];
		struct jp_score_row *row;

		if (!jp_globs_match(&plan->globs, jp_score_name(scene)))
			continue;
		row = jp_array_push(&score->rows, &score->nr_rows, &score->capacity);
		if (!row)
			return jp_fail(err, ENOMEM, "out of memory for a row");
		row->scene = jp_score_name(scene);
		row->was_launched = strncmp(scene->capture_argv[0], "launch", 6) == 0;
		row->cpu = UINT64_MAX;
		plan->progress(row->scene);
		run_case(plan, runner, scene, row);
		if (jp_interrupt_signal()) {
			jp_findings_free(&row->result.findings);
			score->nr_rows--;
			return jp_fail(err, EINTR, "interrupted after %zu of %zu scenes",
				       score->nr_rows, count_wanted(plan, score->scenes));
		}
		if (plan->report_case)
			plan->report_case(score->nr_rows, count_wanted(plan, score->scenes), row);
	}
	return ret;
}

void jp_score_judge(struct jp_score *score)
{
	for (size_t i = 0; i < score->nr_rows; i++) {
		struct jp_score_row *row = &score->rows[i];
		struct jp_error err = {""};
		char path[4096];

		if (!row->watched)
			continue;
		if (jp_path_build(path, sizeof(path), &err, "%s/%s", score->dir, row->cas->name)) {
			row->result.outcome = JP_ERROR;
			snprintf(row->result.reasons, sizeof(row->result.reasons), "%s", err.text);
			continue;
		}
		jp_judge_case(row->cas, path, &row->result);
		jp_score_fill(row);
	}
}
