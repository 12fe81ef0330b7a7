// SPDX-License-Identifier: GPL-2.0-only
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "harness/base/globs.h"
#include "harness/base/terminal.h"
#include "harness/run/cases.h"
#include "harness/command/case_values.h"
#include "harness/command/command.h"
#include "harness/command/command_line.h"
#include "harness/command/list_json.h"

static void append_words(char *line, size_t size, char *const *argv)
{
	size_t used = strlen(line);

	for (; *argv && used < size; argv++)
		used += (size_t)snprintf(line + used, size - used, " %s", *argv);
	if (used < size)
		snprintf(line + used, size - used, " :");
}

/* Prints a case in one line, shortened to the terminal's width. */
static void print_case(const struct jp_case *cas)
{
	char line[4096], shown[4096];

	snprintf(line, sizeof(line), "%-36s %-5s%s :", cas->name, cas->check ? "check" : "full",
		 cas->control ? " control" : "");
	append_words(line, sizeof(line), cas->workload_argv);
	append_words(line, sizeof(line), cas->capture_argv);
	line[strlen(line) - strlen(" :")] = '\0';
	puts(isatty(STDOUT_FILENO) ? jp_terminal_shorten(line, jp_terminal_width(STDOUT_FILENO),
							 JP_CUT_END, shown, sizeof(shown))
				   : line);
}

static int list(int argc, char **argv)
{
	jp_cleanup_arguments struct jp_arguments names = {0}, globs = {0};
	struct jp_operands words = {0};
	bool json = false;
	const struct jp_option options[] = {
		{"--json", .set = &json,
		 .help = "print all cases, and what a case line can contain, as JSON"},
		{"GLOB", .rest = &words, .print_values = jp_print_case_globs, .help = JP_GLOB_HELP},
		{0}};
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
	if (json) {
		jp_list_json(cases, stdout);
		jp_cases_free(cases);
		return JP_EXIT_OK;
	}
	jp_cases_list_names(cases, &names);
	if (jp_globs_read(&globs, &words, &names, "case", &err)) {
		fprintf(stderr, "jitproof list: %s\n", err.text);
		jp_cases_free(cases);
		return JP_EXIT_USAGE;
	}
	for (size_t i = 0; i < cases->nr_cases; i++)
		if (jp_globs_match(&globs, cases->cases[i].name))
			print_case(&cases->cases[i]);
	jp_cases_free(cases);
	return JP_EXIT_OK;
}

static const struct jp_command list_command = {
	.name = "list",
	.synopsis = "list [--json] [GLOB...]",
	.help = "list the cases: name, set, workload, capture",
	.run = list,
};
JP_REGISTER(command, list_command);
