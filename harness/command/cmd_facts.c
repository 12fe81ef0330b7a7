// SPDX-License-Identifier: GPL-2.0-only
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "harness/base/globs.h"
#include "harness/base/json.h"
#include "harness/base/terminal.h"
#include "harness/command/command.h"
#include "harness/command/command_line.h"
#include "harness/command/values.h"
#include "harness/facts/probe_fact.h"

enum { LIMIT_MS = 20000 };

static void print_json(const struct jp_fact *fact, const struct jp_answer *answer)
{
	struct jp_json json;

	jp_json_begin(&json, stdout);
	jp_json_object(&json, NULL);
	jp_json_string(&json, "fact", fact->name);
	if (answer->missing[0]) {
		jp_json_string(&json, "value", NULL);
		jp_json_string(&json, "why", answer->missing);
	} else {
		if (answer->is_list)
			jp_json_array(&json, "value");
		for (unsigned int i = 0; i < answer->count; i++) {
			const struct jp_answer_item *item = &answer->items[i];
			const char *key = answer->is_list ? NULL : "value";

			if (item->is_number)
				jp_json_u64(&json, key, item->number);
			else
				jp_json_string(&json, key, item->text);
		}
		if (answer->is_list)
			jp_json_end(&json);
	}
	jp_json_string(&json, "about", fact->description);
	jp_json_end(&json);
}

/* Prints the line of a fact, and below it what its probe does if @verbose. Wraps only on a
 * terminal. */
static void print_line(const struct jp_fact *fact, const struct jp_answer *answer, bool verbose)
{
	enum { NAME = 33 };
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return;
	if (answer->missing[0])
		fprintf(out, "? %s", answer->missing);
	else if (answer->is_list && !answer->count)
		fputs("nothing", out);
	for (unsigned int i = 0; i < answer->count && !answer->missing[0]; i++) {
		fprintf(out, "%s", i ? ", " : "");
		if (answer->items[i].is_number)
			fprintf(out, "%llu", (unsigned long long)answer->items[i].number);
		else
			fputs(answer->items[i].text, out);
	}
	fclose(out);
	printf("%-*s ", NAME - 1, fact->name);
	if (isatty(STDOUT_FILENO))
		jp_terminal_put_words(stdout, text, NAME, jp_terminal_width(STDOUT_FILENO));
	else
		puts(text);
	if (verbose) {
		fputs("    ", stdout);
		jp_terminal_put_words(stdout, fact->description, 4,
				      jp_terminal_width(STDOUT_FILENO));
	}
	free(text);
}

static int ask_fact(const struct jp_fact *fact, unsigned int limit, bool as_json, bool verbose)
{
	struct jp_error err = {""};
	struct jp_answer answer;

	/* Flush before the fork, otherwise the child would print the buffered output again. */
	fflush(stdout);
	if (jp_fact_ask(fact, limit, &answer, &err))
		return jp_command_fail("facts", &err);
	/* A probe gives one value unless its answer is a list. */
	if (!answer.missing[0] && !answer.is_list && answer.count != 1)
		jp_answer_missing(&answer, "a value: the probe gave %u", answer.count);
	if (as_json)
		print_json(fact, &answer);
	else
		print_line(fact, &answer, verbose);
	return JP_EXIT_OK;
}

static int facts(int argc, char **argv)
{
	const struct jp_fact *fact = NULL;
	jp_cleanup_arguments struct jp_arguments names = {0}, globs = {0};
	struct jp_operands words = {0};
	struct jp_error err;
	bool as_json = false, verbose = false;
	unsigned int limit = LIMIT_MS;
	const struct jp_option options[] = {
		{"GLOB", .operands = &words, .print_values = jp_print_facts, .help = JP_GLOB_HELP},
		{"--json", .set = &as_json, .help = "print one JSON object a line"},
		{"--limit", .value = "MS", .number = &limit, .min = 1, .max = 600000,
		 .help = "time limit of a probe (default: 20000)"},
		{"--verbose", "-v", .set = &verbose,
		 .help = "explain each fact: what its probe does, and what the value means"},
		{0}};
	int status;

	if (!jp_command_line(options, argc, argv, &status))
		return status;
	while ((fact = jp_registry_next(JP_FACT, fact)))
		jp_arguments_add(&names, "%s", fact->name);
	if (jp_globs_read(&globs, &words, &names, "fact", &err)) {
		fprintf(stderr, "jitproof facts: %s\n", err.text);
		return JP_EXIT_USAGE;
	}
	while (status == JP_EXIT_OK && (fact = jp_registry_next(JP_FACT, fact)))
		if (jp_globs_match(&globs, fact->name))
			status = ask_fact(fact, limit, as_json, verbose);
	return status;
}

JP_DEFINE(command, facts_command) = {
	.name = "facts",
	.synopsis = "facts [OPTION...] [GLOB...]",
	.help = "show facts about this kernel, each found by a small probe",
	.run = facts,
};
