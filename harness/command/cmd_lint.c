// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "harness/command/command.h"
#include "harness/command/command_line.h"
#include "harness/command/values.h"
#include "harness/command/reading.h"
#include "harness/lint/lint.h"
#include "harness/lint/print.h"
#include "harness/lint/process.h"

enum { SHOWN = 5 };

struct linting {
	bool json, strict;
	uint32_t pid;
	const char **allowed; /* the rules allowed by name; NULL-terminated */
	size_t nr_allowed, max_findings;
	struct jp_json out;
	struct jp_lint_process process;
	int status;
};

static void report(struct linting *linting, const char *name, struct jp_lint_findings *findings,
		   int failed, const struct jp_error *err)
{
	if (failed) {
		linting->status = jp_command_fail("lint", err);
	} else {
		if (linting->json)
			jp_lint_json(&linting->out, name, findings);
		else
			jp_lint_print(name, findings);
		if (!linting->status && (findings->levels[JP_LINT_ERROR] ||
					 (linting->strict && findings->levels[JP_LINT_WARNING])))
			linting->status = JP_EXIT_BAD;
	}
	jp_lint_findings_free(findings);
}

static void lint_file(struct linting *linting, const char *path)
{
	struct jp_lint_findings findings = {.max_stored = linting->max_findings,
					    .allowed = linting->allowed};
	struct jp_error err = {""};
	int failed = jp_lint_file(path, linting->pid ? &linting->process : NULL, &findings, &err);

	report(linting, path, &findings, failed, &err);
}

static void lint_process(struct linting *linting)
{
	struct jp_lint_findings findings = {.max_stored = linting->max_findings,
					    .allowed = linting->allowed};
	struct jp_lint_process *process = &linting->process;
	struct jp_error err = {""};
	char name[32];
	int failed;

	for (size_t i = 0; i < process->nr_dumps; i++)
		lint_file(linting, process->dumps[i]);
	for (size_t i = 0; i < process->nr_perf_maps; i++)
		lint_file(linting, process->perf_maps[i]);
	snprintf(name, sizeof(name), "process %u", linting->pid);
	failed = jp_lint_process(process, &findings, &err);
	report(linting, name, &findings, failed, &err);
}

static void add_readable_files(struct jp_readable_file **files, char *const *paths, size_t count,
			       int64_t owner)
{
	for (size_t i = 0; i < count; i++)
		*(*files)++ = (struct jp_readable_file){paths[i], owner};
}

/* Continues in a confined process. If the files of a running process are checked, the confined
 * process may open only files that belong to the user of that process, because that process chose
 * their names. Returns as jp_reading_begin(). */
static bool begin_reading(struct linting *linting, const struct jp_operands *files, int *status)
{
	const struct jp_lint_process *process = &linting->process;
	const size_t count = files->count + process->nr_dumps + process->nr_perf_maps;
	struct jp_readable_file *readable, *next;
	struct jp_confine confine = {0};
	bool stays;

	next = readable = calloc(count + 1, sizeof(*readable));
	if (!readable) {
		fprintf(stderr, "jitproof lint: no memory\n");
		*status = JP_EXIT_BROKEN;
		return true;
	}
	add_readable_files(&next, files->list, files->count, -1);
	if (process->user >= 0) {
		add_readable_files(&next, process->dumps, process->nr_dumps, process->user);
		add_readable_files(&next, process->perf_maps, process->nr_perf_maps, process->user);
	}
	confine.readable.files = readable;
	confine.readable.nr_files = (size_t)(next - readable);
	jp_readable_sort(readable, confine.readable.nr_files);
	stays = jp_reading_begin_with("lint", &confine, status);
	free(readable);
	return stays;
}

static int lint_files(struct linting *linting, const struct jp_operands *files)
{
	struct jp_error err = {""};
	int status;

	if (linting->pid && jp_lint_process_read(linting->pid, &linting->process, &err))
		return jp_command_fail("lint", &err);
	if (begin_reading(linting, files, &status))
		return status;
	if (linting->json) {
		jp_json_begin(&linting->out, stdout);
		jp_json_object(&linting->out, NULL);
		jp_json_array(&linting->out, "checked");
	}
	for (int i = 0; i < files->count; i++)
		lint_file(linting, files->list[i]);
	if (linting->pid)
		lint_process(linting);
	if (linting->json) {
		jp_json_end(&linting->out);
		jp_json_end(&linting->out);
	}
	return jp_reading_end("lint", linting->status);
}

static int parse_allow(const struct jp_option *option, const char *text, struct jp_error *err)
{
	struct linting *linting = option->context;

	if (!jp_registry_find(JP_LINT_RULE, text))
		return jp_fail(err, EINVAL, "--allow=%s: no such rule (see --rules)", text);
	linting->allowed[linting->nr_allowed++] = text;
	return 0;
}

static int read_and_lint(struct linting *linting, int argc, char **argv)
{
	enum { FILES = 1, RULES };
	struct jp_operands files = {0};
	bool list_all = false, rules = false;
	const struct jp_option options[] = {
		{"FILE", .operands = &files, .modes = FILES,
		 .help = "a jitdump (jit-PID.dump) or a perf map (perf-PID.map)"},
		{"--pid", .brief = "-p", .value = "PID", .number = &linting->pid, .min = 1,
		 .max = INT32_MAX, .modes = FILES,
		 .help = "check a running process: its mappings, and the files that it publishes"},
		{"--strict", .set = &linting->strict, .modes = FILES,
		 .help = "warnings count as errors"},
		{"--allow", .value = "RULE", .print_values = jp_print_lint_rules,
		 .parse = parse_allow, .context = linting, .modes = FILES,
		 .help = "skip RULE; repeatable"},
		{"--all", .set = &list_all, .modes = FILES,
		 .help = "print all findings of each rule, not only five"},
		{"--json", .set = &linting->json, .modes = FILES, .help = "print one JSON object"},
		{"--rules", .set = &rules, .modes = RULES, .help = "list the rules"},
		{.help = "Exit status: 0; 1 lint found errors; 99 lint cannot read a file."},
		{0}};
	int status;

	if (!jp_command_line(options, argc, argv, &status))
		return status;
	if (rules) {
		jp_lint_print_rules();
		return JP_EXIT_OK;
	}
	if (!files.count && !linting->pid)
		return jp_command_fail_usage("lint", "expected FILE or --pid PID");
	linting->max_findings = list_all ? SIZE_MAX : SHOWN;
	return lint_files(linting, &files);
}

static int lint(int argc, char **argv)
{
	struct linting linting = {0};
	int status = JP_EXIT_BROKEN;

	linting.allowed = calloc((size_t)argc + 1, sizeof(*linting.allowed));
	if (linting.allowed)
		status = read_and_lint(&linting, argc, argv);
	else
		fprintf(stderr, "jitproof lint: no memory\n");
	jp_lint_process_free(&linting.process);
	free(linting.allowed);
	return status;
}

JP_DEFINE(command, lint_command) = {
	.name = "lint",
	.synopsis = "lint [OPTION...] (FILE... | -p PID)",
	.help = "check what a JIT publishes: jitdumps, perf maps, a running process",
	.run = lint,
};
