// SPDX-License-Identifier: GPL-2.0-only
#include <stdio.h>

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
	struct jp_operands globs = {0};
	const struct jp_option options[] = {
		{"GLOB", .rest = &globs, .help = "matches a case's whole name"}, {0}};
	struct jp_error err = {""};
	struct jp_cases *cases;
	size_t shown = 0;
	int status;

	if (!jp_command_line(options, argc, argv, &status))
		return status;
	cases = jp_cases_load(NULL, &err);
	if (!cases || !cases->nr_cases) {
		fprintf(stderr, "jitproof list: %s\n", cases ? "no case is built in" : err.text);
		jp_cases_free(cases);
		return JP_EXIT_BROKEN;
	}
	for (size_t i = 0; i < cases->nr_cases; i++) {
		const struct jp_case *cas = &cases->cases[i];

		if (!jp_globs_match(globs.list, globs.count, cas->name))
			continue;
		shown++;
		printf("%-36s %-5s%s :", cas->name, cas->check ? "check" : "full",
		       cas->control ? " control" : "");
		print_words(cas->workload_argv);
		printf(" :");
		print_words(cas->capture_argv);
		printf("\n");
	}
	if (!shown)
		fprintf(stderr, "jitproof list: no case matches\n");
	jp_cases_free(cases);
	return shown ? JP_EXIT_OK : JP_EXIT_USAGE;
}

static const struct jp_command list_command = {
	.name = "list",
	.synopsis = "list [GLOB...]",
	.help = "list the cases: name, set, workload, capture",
	.run = list,
};
JP_REGISTER(command, list_command);
