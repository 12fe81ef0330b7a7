// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/interrupt.h"
#include "harness/capture/profilers.h"
#include "harness/command/command.h"
#include "harness/command/command_line.h"
#include "harness/command/case_values.h"
#include "harness/command/values.h"
#include "harness/command/reading.h"
#include "harness/command/cleanup_parent.h"
#include "harness/score/scenes.h"
#include "harness/score/take_score.h"

/* `adapter check NAME`: exchanges the protocol's messages with an adapter and reports its
 * errors. */

static void ignore_progress(const char *workload)
{
	(void)workload;
}

static void print_comment(const char *prefix, const char *text)
{
	for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n')
		printf("# %s%.*s\n", prefix, (int)strcspn(line, "\n"), line);
}

/* Lists the validators that cannot judge the capture, grouped by what the capture lacks. */
static void list_skipped_validators(const struct jp_findings *findings)
{
	for (size_t i = 0; i < findings->nr_skipped; i++) {
		const char *lack = findings->skipped[i].lack;
		size_t first = 0;

		while (strcmp(findings->skipped[first].lack, lack) != 0)
			first++;
		if (first < i)
			continue;
		printf("# not judged (%s):", lack);
		for (size_t j = i; j < findings->nr_skipped; j++)
			if (strcmp(findings->skipped[j].lack, lack) == 0)
				printf("%s %s", j > i ? "," : "", findings->skipped[j].validator);
		printf("\n");
	}
}

/* Prints the findings about a capture for the adapter's author. Returns whether the capture could
 * be judged or was skipped. */
static bool print_row(const char *start_way, int number, const struct jp_score *score)
{
	const struct jp_score_row *row = score->rows;
	const struct jp_findings *findings = row ? &row->result.findings : NULL;
	bool is_skipped = row && row->result.outcome == JP_SKIP;
	bool succeeded =
		row && (row->cells[JP_SCORE_WHOLE].is_known || row->cells[JP_SCORE_RIGHT].k);

	if (row)
		print_comment("", row->result.reasons);
	if (succeeded) {
		printf("# ");
		jp_score_print_line(stdout, row);
	}
	if (findings)
		list_skipped_validators(findings);
	for (size_t i = 0; findings && i < findings->nr_exceptions; i++) {
		const struct jp_exception *exception = &findings->exceptions[i];

		printf("# found: %s, cause %s: %" PRIu64 ", the first:\n", exception->metric,
		       exception->cause, exception->count);
		print_comment("  ", exception->example);
	}
	if (succeeded && row->result.outcome == JP_ERROR)
		succeeded = false;
	printf("%s %d %s%s\n", succeeded || is_skipped ? "ok" : "not ok", number, start_way,
	       is_skipped ? " # SKIP" : "");
	return succeeded || is_skipped;
}

/* Judges without privileges, as the workload's and the profiler's files are untrusted. */
static bool judge_row(const char *start_way, int number, const char *dir, struct jp_score *score)
{
	int status;

	fflush(stdout);
	if (jp_reading_begin("adapter", dir, NULL, NULL, &status))
		return status == JP_EXIT_OK;
	jp_score_judge(score);
	status = print_row(start_way, number, score) ? JP_EXIT_OK : JP_EXIT_BAD;
	fflush(stdout);
	exit(jp_reading_end("adapter", status));
}

static bool check_way_of_starting(struct jp_score_plan *plan, const struct jp_runner *runner,
				  bool launches, int number)
{
	struct jp_score score = {0};
	struct jp_run_dir dir;
	struct jp_error err = {""};
	bool succeeded = false;

	plan->launches = launches;
	if (jp_make_removable_folder(&dir, NULL, &err)) {
		jp_command_fail("adapter", &err);
		return false;
	}
	plan->dir = dir.path;
	if (jp_score_take(plan, runner, &score, &err))
		print_comment("", err.text);
	else
		succeeded = judge_row(launches ? "launch" : "attach", number, dir.path, &score);
	jp_score_free(&score);
	jp_run_dir_remove(dir.path);
	return succeeded;
}

static int check_protocol(struct jp_score_plan *plan, const struct jp_operands *workload)
{
	struct jp_runner runner = {0};
	struct jp_error err = {""};
	char version[256];
	bool succeeded;
	int ret, status;

	if (!jp_command_can_record("adapter", &status) || jp_fork_and_clean_up("adapter", &status))
		return status;
	ret = jp_score_choose_scenes(plan, workload, &err);
	if (ret == -ENOENT)
		return jp_command_fail_usage("adapter", "%s", err.text);
	if (ret)
		return jp_command_fail("adapter", &err);
	printf("TAP version 13\n1..3\n");
	ret = jp_profiler_version(plan->profiler, version, sizeof(version), &err);
	if (ret) {
		print_comment("", err.text);
		printf("%s 1 version%s\nBail out! the adapter cannot run\n",
		       ret == -ENOENT ? "ok" : "not ok", ret == -ENOENT ? " # SKIP" : "");
		return ret == -ENOENT ? JP_EXIT_SKIPPED : JP_EXIT_BAD;
	}
	printf("ok 1 version: %s\n", version);
	if (jp_runner_open(&runner, jp_draw_seed(), (const char *[]){plan->profiler, NULL}, &err))
		return jp_command_fail("adapter", &err);
	succeeded = check_way_of_starting(plan, &runner, false, 2);
	succeeded &= check_way_of_starting(plan, &runner, true, 3);
	jp_runner_close(&runner);
	jp_interrupt_die();
	return succeeded ? JP_EXIT_OK : JP_EXIT_BAD;
}

static int check_adapter(const char *name, char *workload)
{
	struct jp_error err = {""};
	struct jp_cases *lines = jp_score_read_scenes(NULL, &err);
	struct jp_score_plan plan = {
		.profiler = name,
		.frequency = 997,
		.samples = 60,
		.seconds = 30,
		.publish = "map",
		.lines = lines,
		.progress = ignore_progress,
	};
	int status;

	if (!lines)
		return jp_command_fail("adapter", &err);
	status = check_protocol(&plan, &(struct jp_operands){&workload, 1});
	jp_arguments_free(&plan.globs);
	jp_cases_free(lines);
	return status;
}

static int adapter(int argc, char **argv)
{
	static const char *const tasks[] = {"check", NULL};
	char usual[] = "anon_exec";
	const char *name = NULL, *workload = usual;
	unsigned int task;
	const struct jp_option options[] = {
		{"check", .number = &task, .words = tasks,
		 .help = "required: let the adapter attach to a workload and launch one, and check "
			 "its answers and files"},
		{"NAME", .text = &name, .is_required = true, .print_values = jp_print_adapters,
		 .help = "the adapter NAME.py, in $JITPROOF_PROFILERS or among those of jitproof"},
		{"WORKLOAD", .text = &workload, .print_values = jp_print_workloads,
		 .help = "the workload to watch (default: anon_exec)"},
		{0}};
	int status;

	return jp_command_line(options, argc, argv, &status) ? check_adapter(name, (char *)workload)
							     : status;
}

JP_DEFINE(command, adapter_command) = {
	.name = "adapter",
	.synopsis = "adapter check NAME [WORKLOAD]",
	.help = "check that a profiler's adapter follows the protocol",
	.run = adapter,
};
