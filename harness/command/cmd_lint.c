// SPDX-License-Identifier: GPL-2.0-only
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "harness/base/number.h"
#include "harness/command/command.h"
#include "harness/command/reading.h"
#include "harness/lint/lint.h"
#include "harness/lint/print.h"
#include "harness/lint/process.h"

enum { SHOWN = 5 };

struct linting {
	bool json, strict;
	uint32_t pid;
	const char **allowed; /* up to a NULL */
	size_t nr_allowed, most;
	struct jp_json out;
	struct jp_lint_process process;
	int status;
};

static int usage(FILE *out)
{
	fputs("usage: jitproof lint [OPTION...] FILE...\n"
	      "       jitproof lint [OPTION...] --pid PID [FILE...]\n"
	      "       jitproof lint --rules\n"
	      "\n"
	      "  FILE          a jitdump (jit-PID.dump) or a perf map (perf-PID.map)\n"
	      "  --pid PID     a running process: its mappings, and the files that it publishes "
	      "by\n"
	      "  --strict      warnings count as errors\n"
	      "  --allow RULE  do not ask RULE; may be given again\n"
	      "  --all         print all findings of a rule, not five\n"
	      "  --json        print one object\n"
	      "  --rules       list the rules (docs/lint.md)\n"
	      "\n"
	      "Exits with 1 on errors, 99 if a file cannot be read, else 0.\n",
	      out);
	return out == stdout ? JP_EXIT_OK : JP_EXIT_USAGE;
}

/* @failed with @err, or what was found. */
static void conclude(struct linting *linting, const char *name, struct jp_lint_findings *findings,
		     int failed, const struct jp_error *err)
{
	if (failed) {
		fprintf(stderr, "jitproof lint: %s\n", err->text);
		linting->status = JP_EXIT_BROKEN;
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
	struct jp_lint_findings findings = {.most = linting->most, .allowed = linting->allowed};
	struct jp_error err = {""};
	int failed = jp_lint_file(path, linting->pid ? &linting->process : NULL, &findings, &err);

	conclude(linting, path, &findings, failed, &err);
}

static void lint_process(struct linting *linting)
{
	struct jp_lint_findings findings = {.most = linting->most, .allowed = linting->allowed};
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
	conclude(linting, name, &findings, failed, &err);
}

static void list(struct jp_readable_file **files, char *const *paths, size_t count, int64_t owner)
{
	for (size_t i = 0; i < count; i++)
		*(*files)++ = (struct jp_readable_file){paths[i], owner};
}

/* Reads the rest in a process without rights. Of what the process has published, only what is its
 * user's own is opened for that one: it chose the names. True: in the process that stays. */
static bool begins(struct linting *linting, char **files, int *status)
{
	const struct jp_lint_process *process = &linting->process;
	size_t named = 0, count;
	struct jp_readable_file *readable, *next;
	struct jp_confine confine = {0};
	char path[32];
	struct stat st;
	bool stays;

	while (files[named])
		named++;
	count = named + process->nr_dumps + process->nr_perf_maps;
	next = readable = calloc(count + 1, sizeof(*readable));
	if (!readable) {
		fprintf(stderr, "jitproof lint: no memory\n");
		*status = JP_EXIT_BROKEN;
		return true;
	}
	list(&next, files, named, -1);
	snprintf(path, sizeof(path), "/proc/%u", linting->pid);
	if (linting->pid && !stat(path, &st)) {
		list(&next, process->dumps, process->nr_dumps, st.st_uid);
		list(&next, process->perf_maps, process->nr_perf_maps, st.st_uid);
	}
	confine.readable.files = readable;
	confine.readable.nr_files = (size_t)(next - readable);
	stays = jp_reading_of("lint", &confine, status);
	free(readable);
	return stays;
}

static int lint_all(struct linting *linting, char **files)
{
	struct jp_error err = {""};
	int status;

	if (linting->pid && jp_lint_process_look(linting->pid, &linting->process, &err)) {
		fprintf(stderr, "jitproof lint: %s\n", err.text);
		return JP_EXIT_BROKEN;
	}
	if (begins(linting, files, &status))
		return status;
	if (linting->json) {
		jp_json_begin(&linting->out, stdout);
		jp_json_object(&linting->out, NULL);
		jp_json_array(&linting->out, "checked");
	}
	for (; *files; files++)
		lint_file(linting, *files);
	if (linting->pid)
		lint_process(linting);
	if (linting->json) {
		jp_json_end(&linting->out);
		jp_json_end(&linting->out);
	}
	return jp_reading_ends("lint", linting->status);
}

/* 0, or an exit status. */
static int take_option(struct linting *linting, int option)
{
	uint64_t pid;

	switch (option) {
	case 'j':
		linting->json = true;
		return 0;
	case 's':
		linting->strict = true;
		return 0;
	case 'a':
		linting->most = SIZE_MAX;
		return 0;
	case 'p':
		if (!jp_number(optarg, 1, INT32_MAX, &pid)) {
			fprintf(stderr, "jitproof lint: --pid %s: expected a process's number\n",
				optarg);
			return JP_EXIT_USAGE;
		}
		linting->pid = (uint32_t)pid;
		return 0;
	case 'w':
		if (!jp_registry_find(JP_LINT_RULE, optarg)) {
			fprintf(stderr, "jitproof lint: --allow %s: no such rule (see --rules)\n",
				optarg);
			return JP_EXIT_USAGE;
		}
		linting->allowed[linting->nr_allowed++] = optarg;
		return 0;
	default:
		return usage(stderr);
	}
}

static int lint(int argc, char **argv)
{
	static const struct option longs[] = {
		{"json", no_argument, NULL, 'j'},  {"strict", no_argument, NULL, 's'},
		{"all", no_argument, NULL, 'a'},   {"pid", required_argument, NULL, 'p'},
		{"rules", no_argument, NULL, 'r'}, {"allow", required_argument, NULL, 'w'},
		{"help", no_argument, NULL, 'h'},  {0},
	};
	struct linting linting = {.most = SHOWN};
	int option, status = 0;

	linting.allowed = calloc((size_t)argc + 1, sizeof(*linting.allowed));
	if (!linting.allowed) {
		fprintf(stderr, "jitproof lint: no memory\n");
		return JP_EXIT_BROKEN;
	}
	while (!status && (option = getopt_long(argc, argv, "hp:", longs, NULL)) != -1) {
		if (option == 'h' || option == 'r') {
			option == 'h' ? (void)usage(stdout) : jp_lint_print_rules();
			free(linting.allowed);
			return JP_EXIT_OK;
		}
		status = take_option(&linting, option);
	}
	if (!status && optind == argc && !linting.pid)
		status = usage(stderr);
	if (!status)
		status = lint_all(&linting, argv + optind);
	jp_lint_process_free(&linting.process);
	free(linting.allowed);
	return status;
}

static const struct jp_command lint_command = {
	.name = "lint",
	.synopsis = "lint [OPTION...] FILE...",
	.help = "check what a JIT publishes: jitdumps, perf maps, a running process",
	.run = lint,
};
JP_REGISTER(command, lint_command);
