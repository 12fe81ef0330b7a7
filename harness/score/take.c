// SPDX-License-Identifier: GPL-2.0-only
#include "harness/score/take.h"

#include <errno.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "harness/base/array.h"
#include "harness/base/cleanup.h"
#include "harness/base/clock.h"
#include "harness/base/interrupt.h"
#include "harness/base/registry.h"
#include "harness/capture/profilers.h"

static bool is_ours(const struct jp_score_plan *plan)
{
	return strcmp(plan->profiler, "jitproof") == 0;
}

static bool wanted(const struct jp_score_plan *plan, const char *name)
{
	for (int i = 0; i < plan->nr_globs; i++)
		if (fnmatch(plan->globs[i], name, 0) == 0)
			return true;
	return !plan->nr_globs;
}

/* A case of a workload as it runs by itself, which expects nothing: only its figures count. */
static struct jp_cases *make_case(const struct jp_score_plan *plan, const char *workload,
				  struct jp_error *err)
{
	const char *way = plan->launches ? "launch" : "attach";
	char text[512], stack[32] = "";
	int size;

	if (plan->stack)
		snprintf(stack, sizeof(stack), " --stack=%u", plan->stack);
	size = snprintf(text, sizeof(text),
			"case score/%s full : %s : %s%s%s --freq=%u%s : samples=%u distinct=1 "
			"seconds=%u publish=%s\n",
			workload, workload, way, is_ours(plan) ? "" : "-by ",
			is_ours(plan) ? "" : plan->profiler, plan->frequency, stack, plan->samples,
			plan->seconds, plan->publish);
	return jp_cases_parse(NULL, "score", NULL, text, (size_t)size, err);
}

static uint64_t own_cpu(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return jp_clock_of_timeval(usage.ru_utime) + jp_clock_of_timeval(usage.ru_stime);
}

/* What the adapter left of the time that the profiler took. */
static uint64_t told_cpu(const char *dir)
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
	if (jp_run_dir_case(&dir, cas->name, path, sizeof(path), &err)) {
		row->result.outcome = JP_ERROR;
		snprintf(row->result.why, sizeof(row->result.why), "%s", err.text);
		return;
	}
	before = own_cpu();
	started = jp_clock_now();
	if (!jp_runner_run(runner, cas, path, &row->result))
		return;
	row->cpu = is_ours(plan) ? own_cpu() - before : told_cpu(path);
	row->watch = jp_clock_now() - started;
	jp_judge_case(cas, path, &row->result);
	jp_score_fill(row);
}

int jp_score_take(const struct jp_score_plan *plan, const struct jp_runner *runner,
		  struct jp_score *score, struct jp_error *err)
{
	const struct {
		const char *name;
	} * workload;
	int ret = 0;

	*score = (struct jp_score){.profiler = plan->profiler, .launches = plan->launches};
	snprintf(score->version, sizeof(score->version), "%s", is_ours(plan) ? "itself" : "");
	if (!is_ours(plan))
		ret = jp_profiler_version(plan->profiler, score->version, sizeof(score->version),
					  err);
	for (size_t i = 0; !ret && (workload = jp_registry_at(JP_WORKLOAD, i)); i++) {
		struct jp_score_row *row;
		struct jp_cases *cases;

		if (!wanted(plan, workload->name))
			continue;
		cases = make_case(plan, workload->name, err);
		row = cases ? jp_array_push(&score->rows, &score->nr_rows, &score->capacity) : NULL;
		if (!row) {
			jp_cases_free(cases);
			return cases ? jp_fail(err, ENOMEM, "no memory for a row") : -EINVAL;
		}
		row->workload = workload->name;
		row->cpu = UINT64_MAX;
		plan->progress(workload->name);
		run_case(plan, runner, &cases->cases[0], row);
		row->result.cas = NULL;
		jp_cases_free(cases);
		if (jp_interrupt_signal())
			return jp_fail(err, EINTR, "interrupted");
	}
	return ret;
}
