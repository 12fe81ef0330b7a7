// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/base/interrupt.h"
#include "harness/base/number.h"
#include "harness/command/command.h"
#include "harness/command/reading.h"
#include "harness/command/run_options.h"
#include "harness/score/take.h"

static const char usage[] =
	"usage: jitproof score --profiler NAME [OPTION...] [SCENE...]\n"
	"       jitproof score --compare A B [OPTION...] [SCENE...]\n"
	"  --profiler NAME  an adapter (docs/profiler-adapters.md), or jitproof: its own capture\n"
	"  --compare A B    two of them, and where they differ\n"
	"  --attach         to a workload that runs already (default)\n"
	"  --launch         let the profiler start it\n"
	"  --publish HOW    what the workloads publish their names by (map)\n"
	"  --freq N         samples per second and thread (997)\n"
	"  --stack N        ask for N bytes of stack, and judge what they unwind to\n"
	"  --scenes FILE    ask what FILE says instead of results/scenes\n"
	"  --samples N      samples wanted of each workload (200)\n"
	"  --seconds N      at most for each workload (5)\n"
	"  --seed N         of the workloads\n"
	"  --json           one object instead of the table\n"
	"  -o DIR           keep the runs in the new directory DIR\n"
	"  SCENE            a glob; all, by default: results/scenes and each other workload\n";

struct score_request {
	struct jp_run_options run;
	struct jp_score_plan plan;
	const char *profilers[2];
	bool json;
};

static int number(const struct score_request *request, uint64_t max, unsigned *value)
{
	uint64_t wide;

	if (!jp_number(optarg, 1, max, &wide))
		return jp_run_usage(&request->run, "expected another number than", optarg);
	*value = (unsigned)wide;
	return 0;
}

static int take_option(struct score_request *request, int option, int argc, char **argv)
{
	struct jp_score_plan *plan = &request->plan;

	switch (option) {
	case 'p':
		request->profilers[0] = optarg;
		return 0;
	case 'c':
		if (optind >= argc)
			return jp_run_usage(&request->run, "expected a second profiler after",
					    optarg);
		request->profilers[0] = optarg;
		request->profilers[1] = argv[optind++];
		return 0;
	case 'a':
	case 'l':
		plan->launches = option == 'l';
		return 0;
	case 'j':
		request->json = true;
		return 0;
	case 'S':
		plan->scenes = optarg;
		return 0;
	case 'P':
		plan->publish = optarg;
		return 0;
	case 'f':
		return number(request, 100000, &plan->frequency);
	case 'k':
		return number(request, 65528, &plan->stack);
	case 'N':
		return number(request, 1000000, &plan->samples);
	case 's':
		return number(request, 600, &plan->seconds);
	default:
		return jp_run_option(&request->run, option, argv);
	}
}

static int parse(int argc, char **argv, struct score_request *request)
{
	static const struct option longs[] = {
		{"profiler", required_argument, NULL, 'p'},
		{"compare", required_argument, NULL, 'c'},
		{"attach", no_argument, NULL, 'a'},
		{"launch", no_argument, NULL, 'l'},
		{"json", no_argument, NULL, 'j'},
		{"publish", required_argument, NULL, 'P'},
		{"freq", required_argument, NULL, 'f'},
		{"stack", required_argument, NULL, 'k'},
		{"scenes", required_argument, NULL, 'S'},
		{"samples", required_argument, NULL, 'N'},
		{"seconds", required_argument, NULL, 's'},
		{"seed", required_argument, NULL, 'n'},
		{"help", no_argument, NULL, 'h'},
		{NULL, 0, NULL, 0},
	};
	int option, ret;

	optind = 1;
	opterr = 0;
	while ((option = getopt_long(argc, argv, ":o:h", longs, NULL)) != -1) {
		ret = take_option(request, option, argc, argv);
		if (ret)
			return ret;
	}
	if (!request->profilers[0])
		return jp_run_usage(&request->run, "expected --profiler NAME or --compare A B, not",
				    argv[optind] ?: "");
	request->plan.globs = argv + optind;
	request->plan.nr_globs = argc - optind;
	return 0;
}

static void progress(const char *workload)
{
	if (isatty(STDERR_FILENO))
		fprintf(stderr, "\r\033[K%s", workload);
}

static int take(struct score_request *request, const struct jp_runner *runner,
		const struct jp_run_dir *dir, struct jp_score *scores)
{
	int count = request->profilers[1] ? 2 : 1, ret = 0;

	for (int i = 0; i < count && !ret; i++) {
		struct jp_error err = {""};
		char path[4096];

		/* Two profilers run the same workloads: each in a folder of its own. */
		request->plan.profiler = request->profilers[i];
		if (jp_run_dir_case(dir, i ? "b/runs" : "a/runs", path, sizeof(path), &err))
			ret = -EIO;
		request->plan.dir = path;
		ret = ret ?: jp_score_take(&request->plan, runner, &scores[i], &err);
		if (isatty(STDERR_FILENO))
			fprintf(stderr, "\r\033[K");
		if (ret)
			fprintf(stderr, "jitproof score: %s\n", err.text);
	}
	return ret;
}

static void tell(const struct score_request *request, const struct jp_score *scores)
{
	if (request->json) {
		jp_score_json(stdout, &scores[0]);
		if (request->profilers[1])
			jp_score_json(stdout, &scores[1]);
	} else if (request->profilers[1]) {
		jp_score_compare(stdout, &scores[0], &scores[1]);
	} else {
		jp_score_print(stdout, &scores[0]);
	}
	fflush(stdout);
}

/* In a process without rights, which prints as well: what the workloads wrote is not trusted. */
static int judge(const struct score_request *request, const struct jp_run_dir *dir,
		 struct jp_score *scores)
{
	int status;

	if (jp_reading_begins("score", dir->path, NULL, NULL, &status))
		return status;
	jp_score_judge(&scores[0]);
	jp_score_judge(&scores[1]);
	tell(request, scores);
	return jp_reading_ends("score", JP_EXIT_OK);
}

static int score(int argc, char **argv)
{
	struct score_request request = {
		.run = {.command = "score", .usage = usage, .seed = jp_run_seed()},
		.plan = {.frequency = 997,
			 .samples = 200,
			 .seconds = 5,
			 .publish = "map",
			 .progress = progress},
	};
	struct jp_score scores[2] = {0};
	struct jp_runner runner = {0};
	struct jp_error err = {""};
	struct jp_run_dir dir;
	int ret = parse(argc, argv, &request), status = JP_EXIT_OK;

	if (ret)
		return ret > 0 ? JP_EXIT_OK : JP_EXIT_USAGE;
	if (jp_runner_open(&runner, request.run.seed, &err) ||
	    jp_run_dir_make(&dir, request.run.output, &err)) {
		fprintf(stderr, "jitproof score: %s\n", err.text);
		jp_runner_close(&runner);
		return JP_EXIT_BROKEN;
	}
	ret = take(&request, &runner, &dir, scores);
	if (!ret)
		status = judge(&request, &dir, scores);
	jp_score_free(&scores[0]);
	jp_score_free(&scores[1]);
	jp_runner_close(&runner);
	if (dir.temporary)
		jp_run_dir_remove(dir.path);
	if (jp_interrupt_signal())
		jp_interrupt_die();
	return !ret ? status : ret == -ENOENT ? JP_EXIT_SKIPPED : JP_EXIT_BROKEN;
}

static const struct jp_command score_command = {
	.name = "score",
	.synopsis = "score --profiler NAME [OPTION...] [SCENE...]",
	.help = "every workload under one profiler: what it saw, in one table",
	.run = score,
};
JP_REGISTER(command, score_command);
