// SPDX-License-Identifier: GPL-2.0-only
/* judge --truth: a workload that any profiler has watched, without a runner. */
#include "harness/command/judge_truth.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "harness/base/arguments.h"
#include "harness/base/exits.h"
#include "harness/base/number.h"
#include "harness/base/shortage.h"
#include "harness/command/judge_file.h"
#include "harness/command/reading.h"
#include "harness/format/rundir/run_dir.h"
#include "harness/outcome/case_folder.h"
#include "harness/outcome/expect.h"
#include "harness/report/ktap.h"
#include "harness/report/results.h"
#include "harness/run/gather.h"

struct truth_request {
	struct jp_gathering gathering;
	const char *keep; /* the folder to make and leave; NULL: a temporary one */
	bool json;
};

bool jp_judge_truth_asked(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		if (strcmp(argv[i], "--truth") == 0 || strncmp(argv[i], "--truth=", 8) == 0)
			return true;
	return false;
}

static int usage(const char *problem, const char *what)
{
	fprintf(stderr, "jitproof judge --truth: %s%s\n", problem, what);
	jp_judge_usage(stderr);
	return JP_EXIT_USAGE;
}

/* 0, or an exit status. */
static int parse(struct truth_request *request, int argc, char **argv)
{
	struct jp_gathering *ask = &request->gathering;

	ask->slack = UINT64_MAX;
	for (int i = 1; i < argc; i++) {
		const char *value, *arg = argv[i];

		if (strcmp(arg, "--json") == 0)
			request->json = true;
		else if ((value = jp_arguments_value("--truth", argc, argv, &i)))
			ask->truth = value;
		else if ((value = jp_arguments_value("--injected", argc, argv, &i)))
			ask->injected = value;
		else if ((value = jp_arguments_value("-o", argc, argv, &i)))
			request->keep = value;
		else if ((value = jp_arguments_value("--slack", argc, argv, &i))) {
			if (!jp_number(value, 0, UINT64_MAX - 1, &ask->slack))
				return usage("expected ns after --slack, found ", value);
		} else if (arg[0] == '-')
			return usage("no option, or no value after it: ", arg);
		else if (ask->capture)
			return usage("more than one file: ", arg);
		else
			ask->capture = arg;
	}
	return ask->truth && ask->capture ? 0 : usage("expected --truth FILE and a perf.data", "");
}

static void print_notes(FILE *out, char *notes)
{
	for (char *next = NULL, *line = strtok_r(notes, "\n", &next); line;
	     line = strtok_r(NULL, "\n", &next))
		fprintf(out, "# note: %s\n", line);
}

static void print_figures(const struct jp_findings *findings)
{
	for (size_t i = 0; i < findings->nr_metrics; i++) {
		char figure[160];

		if (findings->metrics[i].k || findings->metrics[i].n)
			printf("# %s: %s\n", findings->metrics[i].name,
			       jp_expect_figure(&findings->metrics[i], figure, sizeof(figure)));
	}
}

/* The exit status. */
static int judge_folder(const char *dir, struct truth_request *request)
{
	static struct jp_result result;
	struct jp_error err = {""};
	struct jp_cases *cases = jp_case_folder_definition(dir, &err);
	int status = JP_EXIT_BAD;

	if (!cases) {
		fprintf(stderr, "jitproof judge: %s\n", err.text);
		return JP_EXIT_BROKEN;
	}
	jp_case_folder_judge(&cases->cases[0], dir, &result);
	if (request->json) {
		print_notes(stderr, request->gathering.notes);
		jp_results_write(stdout, &result);
	} else {
		jp_ktap_head(stdout, 1);
		print_notes(stdout, request->gathering.notes);
		print_figures(&result.findings);
		jp_ktap_result(stdout, 1, &result);
	}
	if (result.outcome == JP_PASS)
		status = JP_EXIT_OK;
	jp_findings_free(&result.findings);
	jp_cases_free(cases);
	return status;
}

int jp_judge_truth(int argc, char **argv)
{
	struct truth_request request = {0};
	struct jp_run_dir run;
	struct jp_error err = {""};
	char dir[4096];
	int status = parse(&request, argc, argv);

	if (status)
		return status;
	status = JP_EXIT_BROKEN;
	if (jp_run_dir_make(&run, request.keep, &err) ||
	    jp_run_dir_case(&run, "truth/gathered", dir, sizeof(dir), &err)) {
		fprintf(stderr, "jitproof judge: %s\n", err.text);
		return JP_EXIT_BROKEN;
	}
	if (jp_gather(&request.gathering, dir, &err))
		fprintf(stderr, "jitproof judge: %s\n", err.text);
	else if (!jp_reading_begins("judge", dir, NULL, NULL, &status))
		status = judge_folder(dir, &request);
	if (!request.keep)
		jp_run_dir_remove(run.path);
	if (jp_shortage(err.text, sizeof(err.text)) || fflush(stdout) || ferror(stdout)) {
		fprintf(stderr, "jitproof judge: %s\n",
			*err.text ? err.text : "cannot write to standard output");
		status = JP_EXIT_BROKEN;
	}
	return status;
}
