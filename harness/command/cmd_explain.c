// SPDX-License-Identifier: GPL-2.0-only
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/arguments.h"
#include "harness/command/command.h"
#include "harness/command/explain_causes.h"
#include "harness/command/explain_truth.h"
#include "harness/command/limit.h"
#include "harness/command/reading.h"
#include "harness/command/truth_request.h"
#include "harness/explain/explain.h"
#include "harness/report/explain_report.h"

struct explain_arguments {
	bool json, causes;
	const char *file;
	struct jp_explain_options explain;
	struct jp_limit limit; /* of --fail-if: percent, or samples */
};

static void print_usage(FILE *out)
{
	fputs("usage: jitproof explain [--json] [--fail-if ID>X[%]] [--elf DIR] [--root DIR]\n"
	      "                        [--partial] FILE\n"
	      "       jitproof explain --truth TRUTH [--injected INJECTED] [--slack NS] [--json]\n"
	      "                        FILE\n"
	      "       jitproof explain --causes [--json]\n"
	      "  FILE              a perf.data file or folder; -: standard input\n"
	      "  --json            one object\n"
	      "  --fail-if ID>X[%] exit with 1 only if cause ID costs more than X samples, or\n"
	      "                    more than X % of them; else with 0\n"
	      "  --elf DIR         look for ELF files in DIR first, whatever its layout\n"
	      "  --root DIR        look for all files below DIR, a copied root\n"
	      "  --partial         of a file that is cut short: explain what lies before\n"
	      "  --truth TRUTH     of a workload: say of each cause whether it is right\n"
	      "  --injected INJECTED  explain INJECTED, which was made of FILE\n"
	      "  --causes          list all causes, and the words of validators for them\n"
	      "Says why stacks are broken and names are missing, the worst cause first.\n"
	      "Exit status: 0 healthy, 1 there are causes, or dumps of\n"
	      "another machine, which nobody can judge here, 99 FILE cannot be read whole.\n"
	      "Causes:\n",
	      out);
	for (size_t i = 0; jp_cause_at(i); i++)
		fprintf(out, "  %-24s %s\n", jp_cause_at(i)->id, jp_cause_at(i)->text);
}

static int usage(const char *problem, const char *what)
{
	fprintf(stderr, "jitproof explain: %s%s\n", problem, what);
	print_usage(stderr);
	return -1;
}

static int parse_fail_if(struct explain_arguments *options, const char *text)
{
	const char *problem =
		jp_limit_parse(&options->limit, text, "expected ID>X after --fail-if, found ");

	if (problem)
		return usage(problem, text);
	return jp_cause_find(options->limit.name) ? 0
						  : usage("no cause called ", options->limit.name);
}

static int parse(struct explain_arguments *options, int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		const char *arg = argv[i], *value;

		if (strcmp(arg, "--json") == 0) {
			options->json = true;
		} else if (strcmp(arg, "--causes") == 0) {
			options->causes = true;
		} else if (strcmp(arg, "--partial") == 0) {
			options->explain.partial = true;
		} else if ((value = jp_arguments_value("--fail-if", argc, argv, &i))) {
			if (parse_fail_if(options, value))
				return -1;
		} else if ((value = jp_arguments_value("--elf", argc, argv, &i))) {
			options->explain.elf = value;
		} else if ((value = jp_arguments_value("--root", argc, argv, &i))) {
			options->explain.root = value;
		} else if (strcmp(arg, "--fail-if") == 0 || strcmp(arg, "--elf") == 0 ||
			   strcmp(arg, "--root") == 0) {
			return usage("expected a value after ", arg);
		} else if (arg[0] == '-' && arg[1]) {
			return usage("no option ", arg);
		} else if (options->file) {
			return usage("more than one file: ", arg);
		} else {
			options->file = arg;
		}
	}
	if (options->causes && options->file)
		return usage("--causes takes no file: ", options->file);
	return options->file || options->causes ? 0 : usage("no file", "");
}

static int verdict(const struct jp_explanation *explanation,
		   const struct explain_arguments *options)
{
	double found = 0, of = 0;

	if (!*options->limit.name)
		return jp_explain_healthy(explanation) ? JP_EXIT_OK : JP_EXIT_BAD;
	for (size_t i = 0; i < explanation->nr_causes; i++) {
		const struct jp_blamed *one = &explanation->causes[i];

		if (strcmp(one->cause->id, options->limit.name) != 0)
			continue;
		found = options->limit.percent ? one->share : (double)one->samples;
		of = 1;
	}
	return jp_limit_verdict(&options->limit, "explain", options->file, found, of);
}

static int explain(int argc, char **argv)
{
	struct jp_explanation explanation = {0};
	struct explain_arguments options = {0};
	int status = JP_EXIT_BROKEN;
	struct jp_error err;

	if (argc == 2 && strcmp(argv[1], "--help") == 0) {
		print_usage(stdout);
		return JP_EXIT_OK;
	}
	if (jp_truth_asked(argc, argv))
		return jp_explain_truth(argc, argv);
	if (parse(&options, argc, argv))
		return JP_EXIT_USAGE;
	if (options.causes) {
		jp_explain_causes(options.json);
		return jp_reading_ends("explain", JP_EXIT_OK);
	}
	if (jp_reading_begins("explain", options.file, options.explain.elf, options.explain.root,
			      &status))
		return status;
	if (jp_explain(options.file, &options.explain, &explanation, &err)) {
		fprintf(stderr, "jitproof explain: %s\n", err.text);
	} else {
		if (explanation.summary.cut_short)
			fprintf(stderr, "jitproof explain: note: %s\n", err.text);
		if (options.json)
			jp_explain_report_json(&explanation, options.file);
		else
			jp_explain_report_text(&explanation, options.file);
		status = jp_reading_ends("explain", verdict(&explanation, &options));
	}
	jp_explanation_free(&explanation);
	return status;
}

static const struct jp_command explain_command = {
	.name = "explain",
	.synopsis = "explain [OPTION...] FILE",
	.help = "say why stacks break and names are missing in a perf.data",
	.run = explain,
};
JP_REGISTER(command, explain_command);
