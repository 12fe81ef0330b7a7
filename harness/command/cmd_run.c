// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "harness/command/command.h"
#include "harness/command/globs.h"
#include "harness/command/run_judge.h"
#include "harness/command/run_options.h"
#include "harness/base/interrupt.h"
#include "harness/base/path.h"
#include "harness/report/ktap.h"
#include "harness/report/report.h"
#include "harness/run/cases.h"
#include "harness/run/runner.h"

static const char usage_text[] =
	"usage: jitproof run [-o DIR] [--set=check|full] [--expected DIR] [--seed N] [--keep] "
	"[--no-judge]\n"
	"                    [GLOB...]\n"
	"  -o DIR          keep the run directory as DIR, which must be new or empty\n"
	"  --set=SET       the cases of the set check, or all (full); without GLOB check is "
	"meant,\n"
	"                  with GLOB full\n"
	"  --expected DIR  take the cases from the files in DIR, not from those built in\n"
	"  --seed N        varies loop lengths; without it, a random one is printed\n"
	"  --keep          keep the temporary run directory even when all passed\n"
	"  --no-judge      act and watch only; `jitproof judge DIR` judges, here or elsewhere;\n"
	"                  exits with 0 when every case was tried\n"
	"  GLOB            matches a case's whole name\n";

struct run_request {
	struct jp_run_options run;
	bool keep, full, set, unjudged;
	char **globs;
	int nr_globs;
};

/* 0, 1: help was asked for, -1: usage was printed. */
static int parse(int argc, char **argv, struct run_request *options)
{
	static const struct option longs[] = {
		{"set", required_argument, NULL, 's'},
		{"expected", required_argument, NULL, 'e'},
		{"seed", required_argument, NULL, 'n'},
		{"keep", no_argument, NULL, 'k'},
		{"help", no_argument, NULL, 'h'},
		{"no-judge", no_argument, NULL, 'j'},
		{NULL, 0, NULL, 0},
	};
	int option, ret;

	options->run = (struct jp_run_options){
		.command = "run", .usage = usage_text, .seed = jp_run_seed()};
	while ((option = getopt_long(argc, argv, ":o:h", longs, NULL)) != -1) {
		switch (option) {
		case 's':
			options->full = strcmp(optarg, "full") == 0;
			options->set = true;
			if (!options->full && strcmp(optarg, "check") != 0)
				return jp_run_usage(&options->run,
						    "expected --set=check or --set=full, found",
						    optarg);
			break;
		case 'k':
			options->keep = true;
			break;
		case 'j':
			options->unjudged = true;
			break;
		default:
			ret = jp_run_option(&options->run, option, argv);
			if (ret)
				return ret;
		}
	}
	options->globs = argv + optind;
	options->nr_globs = argc - optind;
	if (!options->set)
		options->full = options->nr_globs > 0;
	return 0;
}

static bool wanted(const struct run_request *options, const struct jp_case *cas)
{
	return (options->full || cas->check) &&
	       jp_globs_match(options->globs, options->nr_globs, cas->name);
}

static void progress(size_t number, size_t plan, const char *name)
{
	if (!isatty(STDERR_FILENO))
		return;
	if (name)
		fprintf(stderr, "\r\033[K[%zu/%zu] %s", number, plan, name);
	else
		fprintf(stderr, "\r\033[K");
}

/* False: the judge is gone. */
static bool run_one(const struct run_request *options, const struct jp_run_judge *judge,
		    const struct jp_runner *runner, const struct jp_run_dir *dir,
		    const struct jp_case *cas, size_t index)
{
	static struct jp_result result;
	struct jp_error err = {""};
	char path[4096];
	bool watched;

	memset(&result, 0, sizeof(result));
	if (jp_run_dir_case(dir, cas->name, path, sizeof(path), &err)) {
		result.outcome = JP_ERROR;
		snprintf(result.why, sizeof(result.why), "%s", err.text);
		return jp_run_judge_case(judge, index, NULL, false, &result);
	}
	watched = jp_runner_run(runner, cas, path, &result);
	progress(0, 0, NULL);
	if (jp_interrupt_signal())
		return true;
	if (options->unjudged)
		return jp_run_judge_unjudged(judge, index, watched, &result);
	if (!jp_run_judge_case(judge, index, path, watched, &result))
		return false;
	/* Nobody will look at it, and a full run's would fill a disk. */
	if (dir->temporary && !options->keep &&
	    (result.outcome == JP_PASS || result.outcome == JP_XFAIL))
		jp_run_dir_remove(path);
	return true;
}

static bool run_all(const struct run_request *options, const struct jp_cases *cases, size_t plan,
		    const struct jp_run_judge *judge, const struct jp_runner *runner,
		    const struct jp_run_dir *dir)
{
	bool there = true;

	for (size_t i = 0, n = 0; i < cases->nr_cases && there && !jp_interrupt_signal(); i++) {
		if (!wanted(options, &cases->cases[i]))
			continue;
		progress(++n, plan, cases->cases[i].name);
		there = run_one(options, judge, runner, dir, &cases->cases[i], i);
	}
	return there;
}

/* Removes the run directory, or says where it is. */
static void leave(const struct run_request *options, const struct jp_run_dir *dir, int status)
{
	if (dir->temporary && !options->keep && !options->unjudged &&
	    (status == JP_EXIT_OK || status == JP_EXIT_SKIPPED))
		jp_run_dir_remove(dir->path);
	else
		jp_ktap_comment(stdout, "run directory: ", dir->path);
	fflush(stdout);
}

/* The runner's part: all that needs rights. */
static int act(const struct run_request *options, const struct jp_cases *cases, size_t plan,
	       const struct jp_run_judge *judge, const struct jp_run_dir *dir)
{
	struct jp_runner runner = {0};
	struct jp_error err = {""};
	int status = JP_EXIT_BROKEN, junit = -1;

	if (jp_runner_open(&runner, options->run.seed, &err)) {
		fprintf(stderr, "jitproof run: %s\n", err.text);
	} else if (run_all(options, cases, plan, judge, &runner, dir)) {
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
	/* The judge dies with it, and may be missed before the signal is seen. */
	if (dir->temporary && jp_run_judge_orphaned(judge))
		jp_run_dir_remove(dir->path);
	else
		leave(options, dir, status);
	jp_runner_close(&runner);
	return status;
}

static int run_cases(const struct run_request *options, const struct jp_cases *cases, size_t plan)
{
	struct jp_report report = {.unjudged = options->unjudged};
	struct jp_error err = {""};
	struct jp_run_judge judge;
	struct jp_run_dir dir = {0};
	const struct jp_run_start start = {.report = &report,
					   .cases = cases,
					   .plan = plan,
					   .seed = options->run.seed,
					   .output = options->run.output,
					   .dir = &dir,
					   .keep = options->keep || options->unjudged};
	int status = JP_EXIT_BROKEN, ret;

	ret = jp_run_judge_start(&judge, &start, &status, &err);
	if (ret < 0)
		fprintf(stderr, "jitproof run: %s\n", err.text);
	return ret ? status : act(options, cases, plan, &judge, &dir);
}

static int run(int argc, char **argv)
{
	struct run_request options = {0};
	struct jp_error err = {""};
	struct jp_cases *cases;
	int status = parse(argc, argv, &options);
	size_t plan = 0;

	if (status)
		return status > 0 ? JP_EXIT_OK : JP_EXIT_USAGE;
	cases = jp_cases_load(options.run.expected, &err);
	if (!cases || !cases->nr_cases) {
		fprintf(stderr, "jitproof run: %s\n", cases ? "there is no case" : err.text);
		jp_cases_free(cases);
		return JP_EXIT_BROKEN;
	}
	/* A misspelt GLOB among good ones would run less than was asked for. */
	for (int i = 0; i < options.nr_globs; i++) {
		bool any = false;

		for (size_t c = 0; c < cases->nr_cases && !any; c++)
			any = jp_globs_match(&options.globs[i], 1, cases->cases[c].name);
		if (any)
			continue;
		fprintf(stderr, "jitproof run: no case matches '%s' (see jitproof list)\n",
			options.globs[i]);
		jp_cases_free(cases);
		return JP_EXIT_USAGE;
	}
	for (size_t i = 0; i < cases->nr_cases; i++)
		plan += wanted(&options, &cases->cases[i]);
	if (plan) {
		status = run_cases(&options, cases, plan);
	} else {
		fprintf(stderr, "jitproof run: the set holds none of these cases\n");
		status = JP_EXIT_BROKEN;
	}
	jp_cases_free(cases);
	return status;
}

static const struct jp_command run_command = {
	.name = "run",
	.synopsis = "run [-o DIR] [--set=check|full] [GLOB...]",
	.help = "run cases; KTAP on standard output",
	.run = run,
};
JP_REGISTER(command, run_command);
