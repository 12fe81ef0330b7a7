// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "harness/base/arguments.h"
#include "harness/command/case_values.h"
#include "harness/command/command.h"
#include "harness/command/command_line.h"
#include "harness/command/run_judge.h"
#include "harness/base/globs.h"
#include "harness/base/clock.h"
#include "harness/base/interrupt.h"
#include "harness/base/progress.h"
#include "harness/report/ktap.h"
#include "harness/report/report.h"
#include "harness/run/cases.h"
#include "harness/run/jobs.h"
#include "harness/run/readers.h"
#include "harness/run/runner.h"

struct run_request {
	const char *output, *html, *expected, *program, *readers;
	uint64_t seed;
	unsigned jobs;
	bool keep, full, unjudged;
	struct jp_screen screen;
	struct jp_operands words;
	struct jp_arguments globs;
};

static bool parse(struct run_request *request, int argc, char **argv, int *status)
{
	bool verbose = false;
	static const char *const sets[] = {"check", "full", NULL};
	unsigned int set = UINT_MAX;
	const struct jp_option options[] = {
		{"GLOB", .operands = &request->words, .print_values = jp_print_case_globs,
		 .help = JP_GLOB_HELP},
		{"-o", .value = "DIR", .text = &request->output,
		 .help = "keep the run directory as DIR, which must be new or empty"},
		{"--html", .value = "FILE", .text = &request->html,
		 .help = "write the page of report to the new file FILE"},
		{"--set", .number = &set, .words = sets,
		 .help = "which cases GLOB selects from: check (a quick set) or full (all) "
			 "(default: check without GLOB, full with GLOB)"},
		{"--expected", .value = "DIR", .text = &request->expected,
		 .help = "take the cases from the files in DIR, not from those built in"},
		{"--jobs", "-j", "N", .number = &request->jobs, .min = 1, .max = 1024,
		 .help = "run up to N cases at once (default: 1); fewer if they watch the whole "
			 "machine, or if an ordinary user may lock no more memory for rings"},
		{"--program", .value = "NAME", .text = &request->program,
		 .help = "run the workloads with jitproof-NAME, a program beside jitproof: i386, "
			 "musl"},
		{"--readers", .value = "LIST", .text = &request->readers,
		 .help = "let these profilers read each file, and compare what they show: none, "
			 "own (the profilers of the case; default), all, or a list such as "
			 "perf,perf-7.3"},
		{"--seed", .value = "N", .number64 = &request->seed,
		 .help = "number that varies loop lengths (default: a random one, which run "
			 "prints)"},
		{"--keep", .set = &request->keep,
		 .help = "keep the temporary run directory even if all cases passed"},
		{"--verbose", "-v", .set = &verbose, .help = "show all cases, figures and tables"},
		{"--no-judge", .set = &request->unjudged,
		 .help = "record only; `judge DIR` can judge later, also on another machine; exit "
			 "with 0 if every case was tried"},
		{0}};

	request->seed = jp_draw_seed();
	request->jobs = 1;
	request->readers = "own";
	if (!jp_command_line(options, argc, argv, status))
		return false;
	if (!jp_readers_are_valid(request->readers)) {
		fprintf(stderr, "jitproof run: --readers: '%s' is no list of readers\n",
			request->readers);
		*status = JP_EXIT_USAGE;
		return false;
	}
	if (request->html && request->unjudged) {
		fprintf(stderr,
			"jitproof run: --html shows verdicts, which --no-judge leaves out\n");
		*status = JP_EXIT_USAGE;
		return false;
	}
	jp_screen_begin(&request->screen, verbose);
	request->screen.is_terminal &= !request->unjudged;
	request->full = set == UINT_MAX ? request->words.count > 0 : set == 1;
	return true;
}

static bool is_wanted(const struct run_request *options, const struct jp_case *cas)
{
	return (options->full || cas->check) && jp_globs_match(&options->globs, cas->name);
}

/* The state of a run that the progress line shows. */
struct run_progress {
	size_t nr_judged, failures, plan;
	uint64_t started;
	const char *name; /* name of the case that started last */
};

static void show_progress(const struct run_progress *progress)
{
	const uint64_t elapsed = jp_clock_now() - progress->started;
	const size_t nr_left = progress->plan - progress->nr_judged;
	char tail[40] = "", failed[40] = "";

	if (progress->nr_judged)
		snprintf(tail, sizeof(tail), ", %" PRIu64 " s left",
			 elapsed / progress->nr_judged * nr_left / JP_NS_PER_S + 1);
	if (progress->failures)
		snprintf(failed, sizeof(failed), ", %zu failed", progress->failures);
	jp_progress_show("[%zu of %zu%s%s] %s", progress->nr_judged, progress->plan, failed, tail,
			 progress->name);
}

/* Makes the judge process judge and report the case of a job. Returns false if the judge process
 * has ended. */
static bool judge_job(const struct run_request *options, const struct jp_run_judge *judge,
		      const struct jp_run_dir *dir, const struct jp_job *job, size_t index)
{
	struct jp_result *result = &job->shared->result;
	const char *path = *job->dir ? job->dir : NULL;

	jp_progress_clear();
	if (options->unjudged)
		return jp_run_judge_unjudged(judge, index, job->shared->watched, result);
	if (!jp_run_judge_case(judge, index, path, job->shared->watched, result))
		return false;
	/* Remove the folder of a passed case: the folders of all cases together could fill the
	 * disk. */
	if (path && dir->temporary && !options->keep &&
	    (result->outcome == JP_PASS || result->outcome == JP_XFAIL))
		jp_run_dir_remove(path);
	return true;
}

/* Starts cases from index @next on until a case must wait for others to end. Returns the index of
 * that case. */
static size_t start_cases(const struct run_request *options, const struct jp_cases *cases,
			  size_t next, const struct jp_run_dir *dir, struct jp_jobs *jobs,
			  struct run_progress *progress)
{
	for (; next < cases->nr_cases; next++) {
		const struct jp_case *cas = &cases->cases[next];

		if (!is_wanted(options, cas))
			continue;
		if (!jp_jobs_may_start(jobs, cas))
			break;
		progress->name = cas->name;
		show_progress(progress);
		jp_jobs_start(jobs, cas, dir);
	}
	return next;
}

/* Runs all cases. Judges them in their order, even if a later case ends first. Returns false if the
 * judge process has ended. */
static bool run_all_cases(const struct run_request *options, const struct jp_cases *cases,
			  const struct jp_run_judge *judge, struct jp_jobs *jobs,
			  const struct jp_run_dir *dir)
{
	struct run_progress progress = {.plan = jobs->capacity, .started = jp_clock_now()};
	const struct jp_job *job = jobs->list;
	size_t next = 0;
	bool judge_lives = true;

	while (progress.nr_judged < jobs->capacity && judge_lives) {
		next = start_cases(options, cases, next, dir, jobs, &progress);
		jp_jobs_wait(jobs, job->pid);
		if (jp_interrupt_signal())
			break;
		if (job->pid)
			continue;
		judge_lives =
			judge_job(options, judge, dir, job, (size_t)(job->cas - cases->cases));
		progress.nr_judged++;
		progress.failures += jp_screen_is_failure(job->shared->result.outcome);
		job++;
		if (progress.nr_judged < progress.plan)
			show_progress(&progress);
	}
	jp_progress_clear();
	return judge_lives;
}

/* Removes the run directory if it is temporary, or prints its path. */
static void leave_run_dir(const struct run_request *options, const struct jp_run_dir *dir,
			  int status)
{
	if (dir->temporary && !options->keep && !options->unjudged &&
	    (status == JP_EXIT_OK || status == JP_EXIT_SKIPPED))
		jp_run_dir_remove(dir->path);
	else if (!options->screen.is_terminal)
		jp_ktap_comment(stdout, "run directory: ", dir->path);
	fflush(stdout);
}

/* Opens the runner. Describes only those profilers on which a case of this run depends. */
static int open_runner(const struct run_request *options, const struct jp_cases *cases,
		       struct jp_runner *runner, struct jp_error *err)
{
	jp_cleanup_arguments struct jp_arguments names = {0};
	static const char *const no_globs[] = {NULL};

	for (size_t i = 0; i < cases->nr_cases; i++)
		if (is_wanted(options, &cases->cases[i]))
			jp_runner_list_profilers(&cases->cases[i], &names);
	if (names.failed)
		return jp_fail(err, ENOMEM, "out of memory");
	return jp_runner_open(runner, options->seed,
			      names.list ? (const char *const *)names.list : no_globs, err);
}

/* Runs the cases in the runner process, which has privileges. Returns the exit status. */
static int run_cases_in_runner(const struct run_request *options, const struct jp_cases *cases,
			       size_t plan, const struct jp_run_judge *judge,
			       const struct jp_run_dir *dir)
{
	struct jp_runner runner = {.program = options->program, .readers = options->readers};
	struct jp_jobs jobs = {0};
	struct jp_error err = {""};
	int status = JP_EXIT_BROKEN, junit = -1;
	bool judge_lives = false;

	if (open_runner(options, cases, &runner, &err) ||
	    jp_jobs_open(&jobs, &runner, plan, options->jobs, &err))
		jp_command_fail("run", &err);
	else
		judge_lives = run_all_cases(options, cases, judge, &jobs, dir);
	jp_jobs_close(&jobs);
	if (judge_lives) {
		if (jp_interrupt_signal()) {
			jp_run_judge_cut_short(judge, strsignal(jp_interrupt_signal()));
			if (dir->temporary)
				jp_run_dir_remove(dir->path);
			jp_interrupt_die();
		}
		if (!options->unjudged)
			junit = jp_run_dir_create(dir->path, "junit.xml", NULL);
		jp_run_judge_end(judge, junit, &status);
		if (junit >= 0)
			close(junit);
	}
	/* Clean up here if the parent, which should clean up, was killed. */
	if (dir->temporary && jp_run_judge_orphaned(judge))
		jp_run_dir_remove(dir->path);
	else
		leave_run_dir(options, dir, status);
	jp_runner_close(&runner);
	return status;
}

static int run_cases(const struct run_request *options, const struct jp_cases *cases, size_t plan)
{
	struct jp_report report = {.is_unjudged = options->unjudged, .screen = options->screen};
	struct jp_error err = {""};
	struct jp_run_judge judge;
	struct jp_run_dir dir = {0};
	const struct jp_run_start start = {.report = &report,
					   .cases = cases,
					   .plan = plan,
					   .seed = options->seed,
					   .html = options->html,
					   .output = options->output,
					   .dir = &dir,
					   .keeps_dir = options->keep || options->unjudged};
	int status = JP_EXIT_BROKEN, ret;

	ret = jp_run_judge_start(&judge, &start, &status, &err);
	if (ret < 0)
		jp_command_fail("run", &err);
	return ret ? status : run_cases_in_runner(options, cases, plan, &judge, &dir);
}

/* Runs those of @cases that were requested. Returns the exit status. */
static int run_wanted_cases(struct run_request *options, const struct jp_cases *cases)
{
	jp_cleanup_arguments struct jp_arguments names = {0};
	struct jp_error err = {""};
	size_t plan = 0;

	jp_cases_list_names(cases, &names);
	/* A GLOB that matches no case is an error, even among good ones: a misspelling must not
	 * cause a smaller run. */
	if (jp_globs_read(&options->globs, &options->words, &names, "case", &err)) {
		fprintf(stderr, "jitproof run: %s (see jitproof list)\n", err.text);
		return JP_EXIT_USAGE;
	}
	for (size_t i = 0; i < cases->nr_cases; i++)
		plan += is_wanted(options, &cases->cases[i]);
	if (plan)
		return run_cases(options, cases, plan);
	fprintf(stderr, "jitproof run: the set holds none of these cases\n");
	return JP_EXIT_BROKEN;
}

static int run(int argc, char **argv)
{
	struct run_request options = {0};
	struct jp_error err = {""};
	struct jp_cases *cases;
	int status;

	if (!parse(&options, argc, argv, &status) || !jp_command_can_record("run", &status))
		return status;
	status = JP_EXIT_BROKEN;
	cases = jp_cases_load(options.expected, &err);
	if (cases && cases->nr_cases)
		status = run_wanted_cases(&options, cases);
	else
		fprintf(stderr, "jitproof run: %s\n", cases ? "there is no case" : err.text);
	jp_arguments_free(&options.globs);
	jp_cases_free(cases);
	return status;
}

JP_DEFINE(command, run_command) = {
	.name = "run",
	.synopsis = "run [OPTION...] [GLOB...]",
	.help = "run cases; KTAP on standard output",
	.run = run,
};
