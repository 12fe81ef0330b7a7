// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "harness/base/cleanup.h"
#include "harness/base/new_file.h"
#include "harness/base/path.h"
#include "harness/base/progress.h"
#include "harness/base/untrusted_file.h"
#include "harness/command/command.h"
#include "harness/command/command_line.h"
#include "harness/command/judge_file.h"
#include "harness/command/reading.h"
#include "harness/command/truth_request.h"
#include "harness/outcome/case_folder.h"
#include "harness/outcome/expect.h"
#include "harness/report/ktap.h"
#include "harness/report/report.h"
#include "harness/report/results.h"
#include "harness/run/cases.h"

/* Returns the planned number of cases of the run directory @dir, from its ktap.txt, or 0 if
 * unknown. The directory of an interrupted run has fewer cases. */
static size_t read_planned_cases(const char *dir)
{
	unsigned long plan = 0;
	char path[4096];
	uint64_t size;
	int fd = jp_path_build(path, sizeof(path), NULL, "%s/ktap.txt", dir)
			 ?: jp_untrusted_open(path, -1, &size, NULL);
	jp_cleanup_fclose FILE *file = fd >= 0 ? fdopen(fd, "r") : NULL;

	if (file && (fscanf(file, "KTAP version 1 1..%lu", &plan) != 1 || plan > 10000))
		plan = 0;
	return plan;
}

static int judge_folders(const struct jp_arguments *folders, size_t plan,
			 const struct jp_cases *known_cases, bool definitions_from_known,
			 const struct jp_screen *screen, FILE *results)
{
	struct jp_cases **own_cases = calloc(folders->count, sizeof(struct jp_cases *));
	struct jp_report report = {.jsonl = results, .screen = *screen};
	struct jp_error err = {""};
	int status = JP_EXIT_BROKEN;

	if (plan < folders->count)
		plan = folders->count;
	if (!own_cases || jp_report_begin(&report, known_cases, plan)) {
		fprintf(stderr, "jitproof judge: %s\n", strerror(ENOMEM));
		goto out;
	}
	for (size_t i = 0; i < folders->count; i++) {
		const char *dir = folders->list[i];
		struct jp_result *result = jp_report_next(&report);
		const struct jp_case *cas;

		own_cases[i] = jp_case_folder_definition(dir, &err);
		if (!own_cases[i]) {
			printf("Bail out! %s\n", err.text);
			goto out;
		}
		cas = &own_cases[i]->cases[0];
		if (definitions_from_known) {
			cas = jp_cases_find(known_cases, own_cases[i]->cases[0].name);
			if (!cas) {
				printf("Bail out! %s: no case '%s' is known\n", dir,
				       own_cases[i]->cases[0].name);
				goto out;
			}
		}
		result->cas = cas;
		jp_progress_show("[%zu of %zu] %s", i, folders->count, cas->name);
		jp_case_folder_judge(cas, dir, result);
		jp_progress_clear();
		jp_report_add(&report, -1);
	}
	status = jp_report_end(&report);
	if (jp_report_written(&report, &err))
		status = jp_command_fail("judge", &err);
	if (folders->count < plan) {
		jp_report_cut_short(&report, "the run lacks cases that ktap.txt announces");
		status = JP_EXIT_BAD;
	}
out:
	jp_report_free(&report);
	for (size_t i = 0; own_cases && i < folders->count; i++)
		jp_cases_free(own_cases[i]);
	free(own_cases);
	return status;
}

static int judge_dir(const char *dir, const char *expected, const char *results,
		     const struct jp_screen *screen)
{
	jp_cleanup_arguments struct jp_arguments folders = {0};
	struct jp_error err = {""};
	struct jp_cases *known_cases = NULL;
	struct jp_new_file file = {0};
	FILE *out = NULL;
	int status = JP_EXIT_BROKEN;

	if (results && !(out = jp_new_file_stream(&file, results, &err)))
		jp_command_fail("judge", &err);
	else if (jp_case_folders_find(&folders, dir)) {
		jp_fail(&err, errno, "%s: %s", dir, strerror(errno));
		jp_command_fail("judge", &err);
	} else if (!folders.count) {
		jp_fail(&err, ENOENT,
			"%s: contains no case; expected a run directory or a case's folder", dir);
		jp_command_fail("judge", &err);
	} else if (jp_reading_begin("judge", dir, expected, NULL, &status))
		goto out;
	else if (!(known_cases = jp_cases_load(expected, &err)))
		jp_command_fail("judge", &err);
	else
		status = judge_folders(&folders, read_planned_cases(dir), known_cases, expected,
				       screen, out);
	if (status != JP_EXIT_BROKEN && out && jp_new_file_publish(&file, &err))
		status = jp_command_fail("judge", &err);
	jp_new_file_discard(&file);
out:
	jp_cases_free(known_cases);
	return status;
}

/* Returns whether @path is a run directory. A perf.data may be a folder too, but then contains a
 * file that no run directory has. */
static bool is_run_directory(const char *path)
{
	struct stat status;
	char data[4096];

	return stat(path, &status) == 0 && S_ISDIR(status.st_mode) &&
	       (jp_path_build(data, sizeof(data), NULL, "%s/data", path) || lstat(data, &status) ||
		!S_ISREG(status.st_mode));
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
			       jp_expect_format_metric(&findings->metrics[i], figure,
						       sizeof(figure)));
	}
}

/* Implements `jitproof judge --truth`: judges the case folder @dir, made of a capture of any
 * profiler. Returns the exit status. */
static int judge_folder(struct jp_truth_request *request, const char *dir, struct jp_error *err)
{
	static struct jp_result result;
	struct jp_cases *cases = jp_case_folder_definition(dir, err);
	int status = JP_EXIT_BAD;

	if (!cases)
		return JP_EXIT_BROKEN;
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

static int judge(int argc, char **argv)
{
	enum { FILE_ALONE = 1, TRUTH = 2, RUN = 4 };
	struct jp_judge_request file = {.method = JP_DUMP, .modes = FILE_ALONE};
	struct jp_truth_request truth = {
		.command = "judge", .keeps = true, .gathering.slack = UINT64_MAX, .modes = TRUTH};
	const char *expected = NULL, *results = NULL;
	struct jp_screen screen = {0};
	bool verbose = false;
	const struct jp_option options[] = {
		{"FILE", .text = &file.file, .is_required = true,
		 .help = "perf.data (-: standard input), or observations; or a run directory, or a "
			 "case's folder in one"},
		{"--json", .set = &file.json, .modes = FILE_ALONE | TRUTH,
		 .help = "print the figures as one JSON object"},
		{.get_more = jp_judge_file_rows, .context = &file},
		{.help = "Options for a run directory or a case's folder:"},
		{"--expected", .value = "DIR", .text = &expected, .modes = RUN,
		 .help = "take the expectations from the files in DIR, not from the run"},
		{"--results", .value = "OUT", .text = &results, .modes = RUN,
		 .help = "write results.jsonl to the new file OUT"},
		{"--verbose", "-v", .set = &verbose, .modes = RUN,
		 .help = "show all cases, figures and tables"},
		{.help = "Options for any profiler's FILE, with a workload's truth:"},
		{.get_more = jp_truth_rows, .context = &truth},
		{0}};
	int status;

	if (!jp_command_line(options, argc, argv, &status))
		return status;
	if (truth.gathering.truth) {
		truth.gathering.capture = file.file;
		truth.json = file.json;
		return jp_truth_request_judge(&truth, judge_folder);
	}
	/* Options that only a file can have go to jp_judge_file(), which rejects a run
	 * directory. */
	if (expected || results || verbose || (argc == 2 && is_run_directory(file.file))) {
		jp_screen_begin(&screen, verbose);
		screen.dir = file.file;
		return judge_dir(file.file, expected, results, &screen);
	}
	return jp_judge_file(&file, true);
}

JP_DEFINE(command, judge_command) = {
	.name = "judge",
	.synopsis = "judge [OPTION...] DIR|FILE",
	.help = "judge a run again, a perf.data with a truth, or any perf.data",
	.run = judge,
};
