// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "harness/base/json.h"
#include "harness/base/terminal.h"
#include "harness/command/command.h"
#include "harness/command/command_line.h"
#include "harness/command/explain_truth.h"
#include "harness/command/limit.h"
#include "harness/command/reading.h"
#include "harness/command/truth_request.h"
#include "harness/explain/explain.h"
#include "harness/report/explain_report.h"

struct explain_request {
	bool causes, verbose;
	struct jp_explain_options explain;
	struct jp_limit limit; /* limit of --fail-if, on a percentage or a number of samples */
	struct jp_truth_request truth;
};

static void print_causes(FILE *out)
{
	fputs("\nCauses:\n", out);
	for (size_t i = 0; jp_cause_at(i); i++)
		fprintf(out, "  %-24s %s\n", jp_cause_at(i)->id, jp_cause_at(i)->text);
}

static int parse_limit(const struct jp_option *option, const char *text, struct jp_error *err)
{
	struct jp_limit *limit = option->context;

	if (jp_limit_parse(limit, "ID", text, err))
		return -EINVAL;
	return jp_cause_find(limit->name) ? 0
					  : jp_fail(err, EINVAL, "no cause called %s", limit->name);
}

static bool parse(struct explain_request *request, int argc, char **argv, int *status)
{
	enum { FILE_ALONE = 1, TRUTH = 2, LIST = 4 };
	struct jp_gathering *gathering = &request->truth.gathering;
	const struct jp_option options[] = {
		{"FILE", .text = &gathering->capture, .is_required = true,
		 .modes = FILE_ALONE | TRUTH,
		 .help = "a perf.data file or folder; -: standard input"},
		{"--json", .set = &request->truth.json, .help = "print one JSON object"},
		{"--fail-if", .value = "ID>X[%]", .parse = parse_limit, .context = &request->limit,
		 .modes = FILE_ALONE,
		 .help = "exit with 1 only if cause ID costs more than X samples, or more than X "
			 "% of them; else with 0"},
		{"--elf", .value = "DIR", .text = &request->explain.elf, .modes = FILE_ALONE,
		 .help = "look for ELF files in DIR first, whatever its layout"},
		{"--root", .value = "DIR", .text = &request->explain.root, .modes = FILE_ALONE,
		 .help = "look for all files below DIR, a copied root"},
		{"--partial", .set = &request->explain.partial, .modes = FILE_ALONE,
		 .help = "accept a truncated file, and explain its complete part"},
		{"--verbose", "-v", .set = &request->verbose, .modes = FILE_ALONE,
		 .help = "show all places, evidence and notes on a terminal, too, as in a file"},
		{.get_more = jp_truth_rows, .context = &request->truth},
		{"--causes", .set = &request->causes, .modes = LIST,
		 .help = "list all causes, each with the validators' names for it"},
		{.help = "Exit status: 0 healthy; 1 explain found causes, or stack dumps of "
			 "another machine, which it does not unwind; 99 it cannot read the whole "
			 "FILE. With --truth: 0 explain finds the same causes as the validators, "
			 "which know the truth; 1 a cause is wrong or missed; 99 nothing can be "
			 "compared."},
		{0}};

	request->truth.modes = TRUTH;
	return jp_command_line(options, argc, argv, status);
}

static int get_status(const struct jp_explanation *explanation,
		      const struct explain_request *request)
{
	double value = 0, total = 0;

	if (!*request->limit.name)
		return jp_explain_healthy(explanation) ? JP_EXIT_OK : JP_EXIT_BAD;
	for (size_t i = 0; i < explanation->nr_causes; i++) {
		const struct jp_blamed *blamed = &explanation->causes[i];

		if (strcmp(blamed->cause->id, request->limit.name) != 0)
			continue;
		value = request->limit.percent ? blamed->share : (double)blamed->samples;
		total = 1;
	}
	return jp_limit_check(&request->limit, "explain", request->truth.gathering.capture, value,
			      total);
}

static int explain_file(const struct explain_request *request)
{
	const char *file = request->truth.gathering.capture;
	const bool terminal = isatty(STDOUT_FILENO);
	const struct jp_explain_shown shown = {
		.all_places = request->verbose || !terminal,
		.width = terminal ? jp_terminal_width(STDOUT_FILENO) : 0,
	};
	struct jp_explanation explanation = {0};
	int status = JP_EXIT_BROKEN;
	struct jp_error err;

	if (jp_reading_begin("explain", file, request->explain.elf, request->explain.root, &status))
		return status;
	if (jp_explain(file, &request->explain, &explanation, &err)) {
		status = jp_command_fail("explain", &err);
	} else {
		if (explanation.summary.cut_short)
			fprintf(stderr, "jitproof explain: note: %s\n", err.text);
		if (request->truth.json)
			jp_explain_report_json(&explanation, file);
		else
			jp_explain_report_text(&explanation, file, &shown);
		status = jp_reading_end("explain", get_status(&explanation, request));
	}
	jp_explanation_free(&explanation);
	return status;
}

static bool are_equal(const char *left, const char *right)
{
	return left && right ? strcmp(left, right) == 0 : left == right;
}

static void print_words(const char *id)
{
	const struct jp_cause_word *word;

	for (size_t i = 0; (word = jp_cause_word_at(i)); i++)
		if (are_equal(word->id, id))
			printf("    %-16s %s%s%s%s\n", word->word, word->text,
			       word->metric ? " (of " : "", word->metric ?: "",
			       word->metric ? ")" : "");
}

static void print_cause_list(void)
{
	const struct jp_cause *cause;

	printf("causes, and below each the names that validators, which know the truth, have for "
	       "it:\n");
	for (size_t i = 0; (cause = jp_cause_at(i)); i++) {
		printf("  %s: %s\n", cause->id, cause->text);
		print_words(cause->id);
	}
	printf("causes that only validators find, since a capture alone does not show them:\n");
	print_words(NULL);
}

static void write_words(struct jp_json *json, const char *id)
{
	const struct jp_cause_word *word;

	jp_json_array(json, "words");
	for (size_t i = 0; (word = jp_cause_word_at(i)); i++) {
		if (!are_equal(word->id, id))
			continue;
		jp_json_object(json, NULL);
		jp_json_string(json, "word", word->word);
		jp_json_string(json, "text", word->text);
		jp_json_string(json, "metric", word->metric);
		jp_json_end(json);
	}
	jp_json_end(json);
}

static void write_cause_list(void)
{
	const struct jp_cause *cause;
	struct jp_json json;

	jp_json_begin(&json, stdout);
	jp_json_object(&json, NULL);
	jp_json_array(&json, "causes");
	for (size_t i = 0; (cause = jp_cause_at(i)); i++) {
		jp_json_object(&json, NULL);
		jp_json_string(&json, "id", cause->id);
		jp_json_string(&json, "text", cause->text);
		jp_json_string(&json, "costs", jp_cause_costs_text[cause->costs]);
		jp_json_string(&json, "study", cause->study);
		write_words(&json, cause->id);
		jp_json_end(&json);
	}
	jp_json_end(&json);
	write_words(&json, NULL);
	jp_json_end(&json);
}

static int explain(int argc, char **argv)
{
	struct explain_request request = {
		.truth = {.command = "explain", .gathering.slack = UINT64_MAX}};
	int status;

	if (!parse(&request, argc, argv, &status))
		return status;
	if (request.causes) {
		if (request.truth.json)
			write_cause_list();
		else
			print_cause_list();
		return jp_reading_end("explain", JP_EXIT_OK);
	}
	return request.truth.gathering.truth ? jp_explain_truth(&request.truth)
					     : explain_file(&request);
}

JP_DEFINE(command, explain_command) = {
	.name = "explain",
	.synopsis = "explain [OPTION...] FILE",
	.help = "explain why stacks break and names are missing in a perf.data",
	.run = explain,
	.print_more = print_causes,
};
