// SPDX-License-Identifier: GPL-2.0-only
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "harness/base/cleanup.h"
#include "harness/base/globs.h"
#include "harness/base/json.h"
#include "harness/base/terminal.h"
#include "harness/capture/capture.h"
#include "harness/model/unwind/methods.h"
#include "harness/run/cases.h"
#include "harness/command/case_values.h"
#include "harness/command/command.h"
#include "harness/command/command_line.h"
#include "harness/command/workload_rows.h"
#include "workloads/emit/workload.h"

static void append_words(char *line, size_t size, char *const *argv)
{
	size_t length = strlen(line);

	for (; *argv && length < size; argv++)
		length += (size_t)snprintf(line + length, size - length, " %s", *argv);
	if (length < size)
		snprintf(line + length, size - length, " :");
}

/* Prints a case in one line, shortened to the terminal's width. */
static void print_case(const struct jp_case *cas)
{
	char line[4096], short_text[4096];

	snprintf(line, sizeof(line), "%-36s %-5s%s :", cas->name, cas->check ? "check" : "full",
		 cas->control ? " control" : "");
	append_words(line, sizeof(line), cas->workload_argv);
	append_words(line, sizeof(line), cas->capture_argv);
	line[strlen(line) - strlen(" :")] = '\0';
	puts(isatty(STDOUT_FILENO) ? jp_terminal_shorten(line, jp_terminal_width(STDOUT_FILENO),
							 JP_CUT_END, short_text, sizeof(short_text))
				   : line);
}

/* Writes the allowed words of @option. Writes none for a switch and for options with arbitrary
 * values. */
static void write_values(struct jp_json *json, const struct jp_option *option)
{
	jp_cleanup_free char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);
	char *tail, *line;

	if (!out)
		return;
	if (option->words || option->print_values)
		jp_option_print_values(option, out);
	fclose(out);
	for (tail = text; tail && (line = strsep(&tail, "\n")) && *line;)
		jp_json_string(json, NULL, strsep(&line, "\t"));
}

static void write_options(struct jp_json *json, const struct jp_option *option)
{
	for (; option && (option->name || option->help || option->get_more); option++) {
		if (option->get_more) {
			write_options(json, option->get_more(option->context));
			continue;
		}
		if (!option->name || !option->help)
			continue;
		jp_json_object(json, NULL);
		jp_json_string(json, "name", option->name);
		jp_json_bool(json, "switch", (option->set || option->clear) && !option->words);
		jp_json_array(json, "values");
		write_values(json, option);
		jp_json_end(json);
		jp_json_end(json);
	}
}

static void write_workloads(struct jp_json *json)
{
	const struct jp_workload *workload = NULL;

	jp_json_array(json, "workloads");
	while ((workload = jp_registry_next(JP_WORKLOAD, workload))) {
		jp_json_object(json, NULL);
		jp_json_string(json, "name", workload->name);
		jp_json_array(json, "options");
		write_options(json, workload->options);
		jp_json_end(json);
		jp_json_end(json);
	}
	jp_json_end(json);
	jp_json_array(json, "publishing");
	write_options(json, jp_workload_publish_rows(NULL));
	jp_json_end(json);
}

static void write_captures(struct jp_json *json)
{
	struct jp_capture_options unused;
	const struct jp_capture *capture = NULL;

	jp_json_array(json, "captures");
	while ((capture = jp_registry_next(JP_CAPTURE, capture))) {
		jp_json_object(json, NULL);
		jp_json_string(json, "name", capture->name);
		jp_json_bool(json, "external", capture->traits & JP_CAPTURE_EXTERNAL);
		jp_json_bool(json, "gated", capture->traits & JP_CAPTURE_GATED);
		jp_json_array(json, "boundaries");
		for (const char *const *boundary = capture->boundaries; boundary && *boundary;
		     boundary++)
			jp_json_string(json, NULL, *boundary);
		jp_json_end(json);
		jp_json_end(json);
	}
	jp_json_end(json);
	jp_json_array(json, "capture_options");
	write_options(json, jp_capture_rows(&unused));
	jp_json_end(json);
}

static void write_words(struct jp_json *json, const char *key, char *const *words)
{
	jp_json_array(json, key);
	for (; words && *words; words++)
		jp_json_string(json, NULL, *words);
	jp_json_end(json);
}

static void write_case(struct jp_json *json, const struct jp_case *cas)
{
	jp_json_object(json, NULL);
	jp_json_string(json, "name", cas->name);
	jp_json_bool(json, "control", cas->control);
	write_words(json, "workload", cas->workload_argv);
	write_words(json, "capture", cas->capture_argv);
	jp_json_string(json, "publish", cas->publish);
	jp_json_string(json, "inject", cas->inject);
	write_words(json, "inject_with", cas->inject_with);
	jp_json_u64(json, "inside", cas->nr_namespaces);
	jp_json_u64(json, "seconds", cas->seconds);
	jp_json_array(json, "methods");
	for (enum jp_method method = 0; method < JP_METHODS; method++)
		if (cas->methods >> method & 1)
			jp_json_string(json, NULL, jp_method_name(method));
	jp_json_end(json);
	jp_json_string(json, "boundary", cas->step.boundary);
	jp_json_string(json, "step", cas->step.command);
	jp_json_end(json);
}

/* Prints as JSON what a case line can contain: workloads, captures, their options with the known
 * values, and all cases (docs/hunt.md). Programs that generate cases read it (ci/hunt). */
static void print_json(const struct jp_cases *cases)
{
	struct jp_json json;

	jp_json_begin(&json, stdout);
	jp_json_object(&json, NULL);
	write_workloads(&json);
	write_captures(&json);
	jp_json_array(&json, "cases");
	for (size_t i = 0; i < cases->nr_cases; i++)
		write_case(&json, &cases->cases[i]);
	jp_json_end(&json);
	jp_json_end(&json);
}

static int list(int argc, char **argv)
{
	jp_cleanup_arguments struct jp_arguments names = {0}, globs = {0};
	struct jp_operands words = {0};
	const char *expected = NULL;
	bool json = false;
	const struct jp_option options[] = {
		{"--expected", .value = "DIR", .text = &expected,
		 .help = "take the cases from the files in DIR, not from those built in"},
		{"--json", .set = &json,
		 .help = "print all cases, and what a case line can contain, as JSON"},
		{"GLOB", .operands = &words, .print_values = jp_print_case_globs,
		 .help = JP_GLOB_HELP},
		{0}};
	struct jp_error err = {""};
	struct jp_cases *cases;
	int status;

	if (!jp_command_line(options, argc, argv, &status))
		return status;
	cases = jp_cases_load(expected, &err);
	if (!cases || !cases->nr_cases) {
		fprintf(stderr, "jitproof list: %s\n", cases ? "there is no case" : err.text);
		jp_cases_free(cases);
		return JP_EXIT_BROKEN;
	}
	if (json) {
		print_json(cases);
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

JP_DEFINE(command, list_command) = {
	.name = "list",
	.synopsis = "list [--expected DIR] [--json] [GLOB...]",
	.help = "list the cases: name, set, workload, capture",
	.run = list,
};
