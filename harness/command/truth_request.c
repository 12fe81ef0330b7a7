// SPDX-License-Identifier: GPL-2.0-only
#include "harness/command/truth_request.h"

#include <stdio.h>
#include <string.h>

#include "harness/base/arguments.h"
#include "harness/base/exits.h"
#include "harness/base/number.h"
#include "harness/command/reading.h"
#include "harness/format/rundir/run_dir.h"

bool jp_truth_asked(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		if (strcmp(argv[i], "--truth") == 0 || strncmp(argv[i], "--truth=", 8) == 0)
			return true;
	return false;
}

static int wrong(const struct jp_truth_request *request, const char *problem, const char *what)
{
	fprintf(stderr, "jitproof %s --truth: %s%s\n", request->command, problem, what);
	return -1;
}

int jp_truth_request_parse(struct jp_truth_request *request, int argc, char **argv)
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
		else if (request->keeps && (value = jp_arguments_value("-o", argc, argv, &i)))
			request->keep = value;
		else if ((value = jp_arguments_value("--slack", argc, argv, &i))) {
			if (!jp_number(value, 0, UINT64_MAX - 1, &ask->slack))
				return wrong(request, "expected ns after --slack, found ", value);
		} else if (arg[0] == '-')
			return wrong(request, "no option, or no value after it: ", arg);
		else if (ask->capture)
			return wrong(request, "more than one file: ", arg);
		else
			ask->capture = arg;
	}
	if (ask->truth && ask->capture)
		return 0;
	return wrong(request, "expected --truth FILE and a perf.data", "");
}

int jp_truth_request_judge(struct jp_truth_request *request, jp_truth_judge *judge)
{
	struct jp_gathering *ask = &request->gathering;
	const char *input = ask->injected ?: ask->capture;
	int status = JP_EXIT_BROKEN;
	struct jp_run_dir run;
	struct jp_error err = {""};
	char dir[4096];

	if (jp_run_dir_make(&run, request->keep, &err)) {
		fprintf(stderr, "jitproof %s: %s\n", request->command, err.text);
		return status;
	}
	if (!jp_run_dir_case(&run, "truth/gathered", dir, sizeof(dir), &err) &&
	    !jp_gather(ask, dir, &err) &&
	    !jp_reading_begins(request->command, input, dir, NULL, &status))
		status = judge(request, dir, &err);
	if (*err.text)
		fprintf(stderr, "jitproof %s: %s\n", request->command, err.text);
	if (!request->keep)
		jp_run_dir_remove(run.path);
	return jp_reading_ends(request->command, *err.text ? JP_EXIT_BROKEN : status);
}
