// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "harness/base/array.h"
#include "harness/base/interrupt.h"
#include "harness/base/path.h"
#include "harness/base/progress.h"
#include "harness/command/case_values.h"
#include "harness/command/cleanup_parent.h"
#include "harness/command/command.h"
#include "harness/command/command_line.h"
#include "harness/command/reading.h"
#include "harness/command/values.h"
#include "harness/outcome/case_folder.h"
#include "harness/score/scenes.h"
#include "harness/score/take_score.h"

/* Returns the profiler of the case: NAME of "attach-by NAME", or our own capture. */
static const char *get_profiler(const struct jp_case *cas)
{
	const char *word = cas->capture_argv[0];
	size_t length = strlen(word);

	return length > 3 && strcmp(word + length - 3, "-by") == 0 && cas->capture_argv[1]
		       ? cas->capture_argv[1]
		       : "jitproof";
}

static int judge_folder(struct jp_score *score, const char *dir, struct jp_error *err)
{
	struct jp_score_row *row = jp_array_push(&score->rows, &score->nr_rows, &score->capacity);

	if (!row)
		return jp_fail(err, ENOMEM, "out of memory for a row");
	row->cpu = UINT64_MAX;
	row->own_cases = jp_case_folder_definition(dir, err);
	if (!row->own_cases)
		return -EINVAL;
	row->cas = &row->own_cases->cases[0];
	row->scene = jp_path_base(row->cas->name);
	row->was_launched = strncmp(row->cas->capture_argv[0], "launch", 6) == 0;
	score->profiler = get_profiler(row->cas);
	score->launches = row->was_launched;
	jp_case_folder_judge(row->cas, dir, &row->result);
	jp_score_fill(row);
	return 0;
}

/* Judges the kept @folders of an earlier score or run again and fills @score. The profiler's CPU
 * time stays unknown. Returns 0, or -errno and a message. */
static int judge_folders(const struct jp_arguments *folders, struct jp_score *score,
			 struct jp_error *err)
{
	int ret = 0;

	*score = (struct jp_score){.profiler = "jitproof", .version = "(again)"};
	for (size_t i = 0; !ret && i < folders->count; i++)
		ret = judge_folder(score, folders->list[i], err);
	return ret;
}

struct score_request {
	struct jp_score_plan plan;
	const char *profilers[3]; /* NULL-terminated */
	const char *output;
	const char *kept_folder; /* --again: folder of earlier runs to judge again; NULL: none */
	/* --scenes: path of a file of scenes (workloads to score); NULL: the scenes that are built
	 * in */
	const char *scenes;
	struct jp_operands workloads;
	uint64_t seed;
	bool json, lists, attaches, unjudged;
};

/* Folders below the run directory for the runs of each profiler. */
static const char *const runs_of[2] = {"a/runs", "b/runs"};

static bool parse(struct score_request *request, int argc, char **argv, int *status)
{
	enum { ONE = 1, TWO = 2, LIST = 4, AGAIN = 8 };
	struct jp_score_plan *plan = &request->plan;
	const struct jp_option options[] = {
		{"--profiler", .value = "NAME", .text = &request->profilers[0], .is_required = true,
		 .print_values = jp_print_score_profilers, .modes = ONE,
		 .help = "an adapter, or jitproof for its own capture"},
		{"--compare", .value = "A B", .text = &request->profilers[0],
		 .second = &request->profilers[1], .print_values = jp_print_score_profilers,
		 .modes = TWO, .help = "score two profilers, and show where they differ"},
		{"--list", .set = &request->lists, .modes = LIST,
		 .help = "list the scenes, and run none"},
		{"--again", .value = "DIR", .text = &request->kept_folder, .modes = AGAIN,
		 .help = "judge the runs that -o DIR kept again, and run none"},
		{"--launch", .set = &plan->launches,
		 .help = "let the profiler start each workload"},
		{"--attach", .set = &request->attaches,
		 .help = "let the profiler attach to each workload (default)"},
		{"--publish", .value = "HOW", .text = &plan->publish,
		 .print_values = jp_print_publishers,
		 .help = "how the workloads publish names (default: map)"},
		{"--freq", "-F", "HZ", .number = &plan->frequency, .min = 1, .max = 100000,
		 .help = "samples per second and thread (default: 997)"},
		{"--stack", .value = "N", .number = &plan->stack, .min = 1, .max = 65528,
		 .help = "record N bytes of stack, and judge the stacks unwound from them"},
		{"--scenes", .value = "FILE", .text = &request->scenes,
		 .help = "take the scenes from FILE, not those built in"},
		{"--samples", .value = "N", .number = &plan->samples, .min = 1, .max = 1000000,
		 .help = "samples to take of each workload (default: 200)"},
		{"--seconds", .value = "N", .number = &plan->seconds, .min = 1, .max = 600,
		 .help = "longest time for each workload, in seconds (default: 5)"},
		{"--seed", .value = "N", .number64 = &request->seed,
		 .help = "number that varies loop lengths (default: a random one)"},
		{"--json", .set = &request->json,
		 .help = "print one JSON object instead of the table"},
		{"-o", .value = "DIR", .text = &request->output,
		 .help = "keep the runs in the new directory DIR"},
		{"--no-judge", .set = &request->unjudged, .modes = ONE | TWO,
		 .help = "record only; --again DIR can judge later, also on another machine; exit "
			 "with 0 if every scene was tried"},
		{"SCENE", .operands = &request->workloads, .print_values = jp_print_scenes,
		 .help = JP_GLOB_HELP " (default: all)"},
		{0}};

	request->seed = jp_draw_seed();
	if (!jp_command_line(options, argc, argv, status))
		return false;
	if (plan->launches && request->attaches) {
		*status = jp_command_fail_usage("score", "--launch does not go with --attach");
		return false;
	}
	if (request->unjudged && !request->output) {
		*status = jp_command_fail_usage("score", "--no-judge needs -o DIR");
		return false;
	}
	if (request->kept_folder && request->workloads.count) {
		*status = jp_command_fail_usage("score",
						"--again judges all kept runs: it takes no SCENE");
		return false;
	}
	return true;
}

static void show_progress(const char *workload)
{
	jp_progress_show("%s", workload);
}

/* Prints the name of a scene that was run but not judged (--no-judge). */
static void print_unjudged_scene(size_t number, size_t count, const struct jp_score_row *row)
{
	printf("# %zu of %zu: %s: %s\n", number, count, row->cas->name,
	       row->watched ? "watched" : jp_outcome_text(row->result.outcome));
	fflush(stdout);
}

static int run_profilers(struct score_request *request, const struct jp_runner *runner,
			 const struct jp_run_dir *dir, struct jp_score *scores)
{
	int count = request->profilers[1] ? 2 : 1, ret = 0;

	for (int i = 0; i < count && !ret; i++) {
		struct jp_error err = {""};
		char path[4096];

		/* Both profilers record the same workloads, each in its own folder. */
		request->plan.profiler = request->profilers[i];
		if (jp_run_dir_case(dir, runs_of[i], path, sizeof(path), &err))
			ret = -EIO;
		request->plan.dir = path;
		ret = ret ?: jp_score_take(&request->plan, runner, &scores[i], &err);
		jp_progress_clear();
		if (ret)
			jp_command_fail("score", &err);
	}
	return ret;
}

static void print_scores(const struct score_request *request, const struct jp_score *scores)
{
	/* After an interruption, the second profiler may have no scene. */
	const bool has_both = request->profilers[1] && scores[1].nr_rows;

	if (request->json) {
		jp_score_json(stdout, &scores[0]);
		if (has_both)
			jp_score_json(stdout, &scores[1]);
	} else if (has_both) {
		jp_score_compare(stdout, &scores[0], &scores[1]);
	} else {
		jp_score_print(stdout, &scores[0]);
	}
	fflush(stdout);
}

/* Judges and prints without privileges, as the workloads' files are untrusted. */
static int judge(const struct score_request *request, const struct jp_run_dir *dir,
		 struct jp_score *scores)
{
	int status;

	if (jp_reading_begin("score", dir->path, NULL, NULL, &status))
		return status;
	jp_score_judge(&scores[0]);
	jp_score_judge(&scores[1]);
	print_scores(request, scores);
	return jp_reading_end("score", jp_score_failed(&scores[0]) || jp_score_failed(&scores[1])
					       ? JP_EXIT_BAD
					       : JP_EXIT_OK);
}

/* Finds the case folders of each profiler below @run_folder, where run_profilers() put them; or, if
 * there are none, takes all case folders in @run_folder as those of one profiler. */
static int find_kept_folders(const char *run_folder, struct jp_arguments *folders)
{
	for (int i = 0; i < 2; i++) {
		struct jp_error err;
		char path[4096];

		if (jp_path_build(path, sizeof(path), &err, "%s/%s", run_folder, runs_of[i]) ||
		    (!access(path, F_OK) && jp_case_folders_find(&folders[i], path)))
			return -EIO;
	}
	return folders[0].count ? 0 : jp_case_folders_find(&folders[0], run_folder);
}

static int rejudge(const struct score_request *request, const struct jp_arguments *folders)
{
	struct score_request repeated_request = *request;
	struct jp_score scores[2] = {0};
	struct jp_error err = {""};
	int status = JP_EXIT_OK;

	if (judge_folders(&folders[0], &scores[0], &err) ||
	    judge_folders(&folders[1], &scores[1], &err)) {
		status = jp_command_fail("score", &err);
	} else {
		repeated_request.profilers[1] = folders[1].count ? scores[1].profiler : NULL;
		print_scores(&repeated_request, scores);
		if (jp_score_failed(&scores[0]) || jp_score_failed(&scores[1]))
			status = JP_EXIT_BAD;
	}
	jp_score_free(&scores[0]);
	jp_score_free(&scores[1]);
	return status;
}

/* Judges kept runs again. Lists their folders first, because a process without privileges
 * cannot. */
static int judge_kept_runs(const struct score_request *request)
{
	struct jp_arguments folders[2] = {0};
	int status = JP_EXIT_BROKEN;
	struct jp_error err;

	if (find_kept_folders(request->kept_folder, folders) || !folders[0].count) {
		jp_fail(&err, ENOENT, "%s: contains no case", request->kept_folder);
		jp_command_fail("score", &err);
	} else if (!jp_reading_begin("score", request->kept_folder, NULL, NULL, &status))
		status = jp_reading_end("score", rejudge(request, folders));
	jp_arguments_free(&folders[0]);
	jp_arguments_free(&folders[1]);
	return status;
}

/* Runs the scenes under each profiler and judges them. */
static int run_and_judge(struct score_request *request)
{
	struct jp_score scores[2] = {0};
	struct jp_runner runner = {0};
	struct jp_error err = {""};
	struct jp_run_dir dir;
	int ret, status;

	if (!jp_command_can_record("score", &status) || jp_fork_and_clean_up("score", &status))
		return status;
	if (jp_runner_open(&runner, request->seed, request->profilers, &err) ||
	    jp_make_removable_folder(&dir, request->output, &err)) {
		jp_runner_close(&runner);
		return jp_command_fail("score", &err);
	}
	ret = run_profilers(request, &runner, &dir, scores);
	/* After an interruption, judge the scenes that were run. A further signal ends the
	 * command. */
	if (ret == -EINTR)
		jp_interrupt_defer();
	if (!ret || (ret == -EINTR && scores[0].nr_rows))
		status = request->unjudged ? JP_EXIT_OK : judge(request, &dir, scores);
	jp_score_free(&scores[0]);
	jp_score_free(&scores[1]);
	jp_runner_close(&runner);
	if (dir.temporary)
		jp_run_dir_remove(dir.path);
	jp_interrupt_die();
	return !ret ? status : ret == -ENOENT ? JP_EXIT_SKIPPED : JP_EXIT_BROKEN;
}

/* Lists or runs the requested scenes. If a name matches no scene, that is an error, not a smaller
 * run. */
static int list_or_run(struct score_request *request)
{
	struct jp_error err = {""};
	const int ret = jp_score_choose_scenes(&request->plan, &request->workloads, &err);

	if (ret == -ENOENT)
		return jp_command_fail_usage("score", "%s (see --list)", err.text);
	if (ret)
		return jp_command_fail("score", &err);
	if (!request->lists)
		return run_and_judge(request);
	return jp_score_list(&request->plan, stdout, &err) ? jp_command_fail("score", &err)
							   : JP_EXIT_OK;
}

static int score(int argc, char **argv)
{
	struct score_request request = {
		.plan = {.frequency = 997,
			 .samples = 200,
			 .seconds = 5,
			 .publish = "map",
			 .progress = show_progress},
	};
	struct jp_error err = {""};
	struct jp_cases *lines;
	int status;

	if (!parse(&request, argc, argv, &status))
		return status;
	if (request.kept_folder)
		return judge_kept_runs(&request);
	if (request.unjudged)
		request.plan.report_case = print_unjudged_scene;
	request.plan.lines = lines = jp_score_read_scenes(request.scenes, &err);
	if (!lines)
		return jp_command_fail("score", &err);
	status = list_or_run(&request);
	jp_arguments_free(&request.plan.globs);
	jp_cases_free(lines);
	return status;
}

JP_DEFINE(command, score_command) = {
	.name = "score",
	.synopsis = "score [OPTION...] --profiler NAME [SCENE...]",
	.help = "run every workload under one profiler, and tabulate the results",
	.run = score,
};
