// SPDX-License-Identifier: GPL-2.0-only
#include <stdio.h>

#include "harness/base/globs.h"
#include "harness/run/cases.h"
#include "harness/command/command.h"
#include "harness/command/command_line.h"

static void print_words(char *const *argv)
{
	for (; *argv; argv++)
		printf(" %s", *argv);
}

static int list(int argc, char **argv)
{
	jp_cleanup_arguments struct jp_arguments names = {0}, globs = {0};
	struct jp_operands words = {0};
	const struct jp_option options[] = {{"GLOB", .rest = &words, .help = JP_GLOB_HELP}, {0}};
	struct jp_error err = {""};
	struct jp_cases *cases;
	int status;

	if (!jp_command_line(options, argc, argv, &status))
		return status;
	cases = jp_cases_load(NULL, &err);
	if (!cases || !cases->nr_cases) {
		fprintf(stderr, "jitproof list: %s\n", cases ? "no case is built in" : err.text);
		jp_cases_free(cases);
		return JP_EXIT_BROKEN;
	}
	jp_cases_names(cases, &names);
	if (jp_globs_read(&globs, &words, &names, "case", &err)) {
		fprintf(stderr, "jitproof list: %s\n", err.text);
		jp_cases_free(cases);
		return JP_EXIT_USAGE;
	}
	for (size_t i = 0; i < cases->nr_cases; i++) {
		const struct jp_case *cas = &cases->cases[i];

		if (!jp_globs_match(&globs, cas->name))
			continue;
		printf("%-36s %-5s%s :", cas->name, cas->check ? "check" : "full",
		       cas->control ? " control" : "");
		print_words(cas->workload_argv);
		printf(" :");
		print_words(cas->capture_argv);
		printf("\n");
	}
	jp_cases_free(cases);
	return JP_EXIT_OK;
}

static const struct jp_command list_command = {
	.name = "list",
	.synopsis = "list [GLOB...]",
	.help = "list the cases: name, set, workload, capture",
	.run = list,
};
JP_REGISTER(command, list_command);
