// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <ftw.h>
#include <inttypes.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/base/built_in.h"
#include "harness/base/cleanup.h"
#include "harness/base/clock.h"
#include "harness/base/json.h"
#include "harness/base/order.h"
#include "harness/command/command.h"
#include "harness/command/command_line.h"
#include "harness/command/trace_request.h"
#include "harness/trace/cells.h"
#include "harness/trace/print.h"
#include "harness/trace/program.h"

/* The runtimes that `jitproof trial NAME` can try. Each is a shell script of
 * harness/trace/runtimes/, which the Makefile puts into the binary. */
extern const struct jp_built_in jp_runtime_files[];

struct trial_request {
	struct jp_trace_options options;
	struct jp_operands command;
	unsigned int pid;
	bool json, once, list;
	/* Shell script that starts the runtime named on the command line; NULL: a command or a
	 * process was given. */
	char *script;
	struct jp_tally tallies[3]; /* counts of each run in runs[] */
	struct jp_tally total;      /* their sum */
	uint64_t duration;          /* duration of the last run, in ns */
	struct jp_cells cells;
};

/* One of the runs that a trial makes of the command. */
struct trial_run {
	int signal; /* signal that ends the command; 0: it ends by itself */
	const char *map_name, *dump_name;
};

/* In the last run the command runs to its end, which may come only at the end of its input. */
static const struct trial_run runs[] = {
	{SIGTERM, "term.map", "term.dump"},
	{SIGKILL, "kill.map", "kill.dump"},
	{0, NULL, NULL},
};
enum { RUNS = sizeof(runs) / sizeof(*runs) };

static void ignore_insn(void *context, const struct jp_trace_insn *insn)
{
}

/* Returns 0 if the command started, or -ENOEXEC and a message. */
static int check_start(const struct trial_request *request, const struct jp_tally *tally,
		       int status, struct jp_error *err)
{
	const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 0;

	/* Statuses 126 and 127 mean, as in a shell, that a command could not be started. */
	if ((code != 126 && code != 127) || tally->emitted)
		return 0;
	return jp_fail(err, ENOEXEC, "%s: it did not start (status %d)", request->command.list[0],
		       code);
}

static int run_command(struct trial_request *request, const struct trial_run *run,
		       char *const *command, struct jp_error *err)
{
	struct jp_trace trace = {0};
	struct jp_trace_program program = {
		.name = "trial",
		.pid = request->pid,
		.command = command,
		.signal = run->signal,
		.options = request->options,
		.visit = ignore_insn,
	};
	int failed = jp_trace_program(&trace, &program, err);

	if (!failed)
		failed = check_start(request, &trace.tally, program.status, err);
	/* The program ended before the signal, so the run shows nothing about the signal. */
	if (program.signalled || !run->signal)
		request->tallies[run - runs] = trace.tally;
	jp_trace_free(&trace);
	return failed;
}

static int remove_entry(const char *path, const struct stat *entry, int kind, struct FTW *position)
{
	return remove(path);
}

/* Runs the runtime's script to prepare its folder, untraced, since the script may run compilers.
 * Returns 0; -ECANCELED without a message if the runtime is not installed; or -errno and a
 * message. */
static int prepare_script(char *const *command, const char *name, struct jp_error *err)
{
	int status = 0, failed;
	pid_t pid;

	failed = posix_spawnp(&pid, command[0], NULL, NULL, command, environ);
	if (failed)
		return jp_fail(err, failed, "%s: %s", command[0], strerror(failed));
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (WIFEXITED(status) && WEXITSTATUS(status) == JP_EXIT_SKIPPED)
		return -ECANCELED;
	return status ? jp_fail(err, ENOEXEC, "%s: its preparation failed (status %#x)", name,
				(unsigned)status)
		      : 0;
}

/* Returns how many seconds the program of a known runtime runs. Before a signal it outlasts the
 * bursts; then @request->took shows how long they last. */
static uint64_t choose_seconds(const struct trial_request *request, const struct trial_run *run)
{
	enum { LEAST = 6, MOST = 120 };

	return run->signal ? MOST : jp_max(LEAST, jp_min(MOST, request->duration * 3 / 2000000000));
}

/* Prepares a new folder by the runtime's script, and then traces the script as it starts the
 * runtime. */
static int run_script(struct trial_request *request, const struct trial_run *run,
		      struct jp_error *err)
{
	char folder[] = "/tmp/jitproof-trial-XXXXXX", *name = request->command.list[0], seconds[24];
	char *prepare[] = {"sh", "-c", request->script, name, folder, "prepare", seconds, NULL};
	char *command[] = {"sh", "-c", request->script, name, folder, "start", seconds, NULL};
	int failed;

	snprintf(seconds, sizeof(seconds), "%" PRIu64, choose_seconds(request, run));
	if (!mkdtemp(folder))
		return jp_fail(err, errno, "%s: %s", folder, strerror(errno));
	failed = prepare_script(prepare, name, err) ?: run_command(request, run, command, err);
	nftw(folder, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
	return failed;
}

static int run_trial_once(struct trial_request *request, const struct trial_run *run,
			  struct jp_error *err)
{
	const uint64_t start = jp_clock_now();
	const int failed = request->script ? run_script(request, run, err)
					   : run_command(request, run, request->command.list, err);

	request->duration = jp_clock_now() - start;
	return failed;
}

static void print_cells(const struct jp_cells *cells)
{
	for (size_t i = 0; i < cells->count; i++) {
		const struct jp_cell *cell = &cells->list[i];

		if (cell->nr_total)
			printf("%-5s %-13s %9" PRIu64 " of %9" PRIu64 "  %s\n",
			       cell->nr_bad ? "RED" : "ok", cell->name, cell->nr_bad,
			       cell->nr_total, cell->question);
		else
			printf("%-5s %-13s %22s  %s\n", "-", cell->name, "", cell->question);
	}
}

static void write_cells(struct jp_json *json, const struct jp_cells *cells)
{
	for (size_t i = 0; i < cells->count; i++) {
		jp_json_object(json, cells->list[i].name);
		jp_json_u64(json, "bad", cells->list[i].nr_bad);
		jp_json_u64(json, "of", cells->list[i].nr_total);
		jp_json_end(json);
	}
}

static void write_result(const struct trial_request *request)
{
	struct jp_json json;

	jp_json_begin(&json, stdout);
	jp_json_object(&json, NULL);
	jp_json_u64(&json, "seed", request->options.seed);
	jp_json_object(&json, "cells");
	write_cells(&json, &request->cells);
	jp_json_end(&json);
	jp_json_object(&json, "trace");
	jp_tally_json(&request->tallies[RUNS - 1], &json);
	jp_json_end(&json);
	jp_json_end(&json);
}

static void sum_up(struct trial_request *request)
{
	enum { WORDS = sizeof(struct jp_tally) / sizeof(uint64_t) };
	uint64_t *sum = (uint64_t *)&request->total;

	for (size_t i = 0; i < RUNS * WORDS; i++)
		sum[i % WORDS] += ((const uint64_t *)request->tallies)[i];
}

static int run_trial(void *context)
{
	struct trial_request *request = context;
	const struct jp_tally *tally = &request->tallies[RUNS - 1];
	const size_t first = request->once ? RUNS - 1 : 0;
	struct jp_error err = {""};
	int failed = 0;

	for (size_t i = first; i < RUNS && !failed; i++)
		failed = run_trial_once(request, &runs[i], &err);
	if (failed)
		return failed == -ECANCELED ? JP_EXIT_SKIPPED : jp_command_fail("trial", &err);
	sum_up(request);
	jp_cells_add_run(&request->cells, tally, &request->total);
	for (size_t i = first; i < RUNS - 1; i++)
		jp_cells_add_killed(&request->cells, &request->tallies[i], tally, runs[i].map_name,
				    runs[i].dump_name);
	if (request->json) {
		write_result(request);
	} else {
		print_cells(&request->cells);
	}
	return jp_cells_count_red(&request->cells) ? JP_EXIT_BAD : JP_EXIT_OK;
}

/* Name of the file with the functions that all scripts use. */
static const char prelude[] = "prelude";

static const struct jp_built_in *find_file(const char *name)
{
	for (const struct jp_built_in *file = jp_runtime_files; file->name; file++)
		if (strcmp(file->name, name) == 0)
			return file;
	return NULL;
}

/* Returns the text of the script @name with the prelude before it, which the caller frees, or NULL
 * if there is no such runtime. */
static char *find_script(const char *name)
{
	const struct jp_built_in *first = find_file(prelude), *file = find_file(name);
	char *script;

	if (!first || !file || file == first ||
	    asprintf(&script, "%.*s\n%.*s", (int)(first->end - first->start), first->start,
		     (int)(file->end - file->start), file->start) < 0)
		return NULL;
	return script;
}

static void print_runtimes(void)
{
	for (const struct jp_built_in *file = jp_runtime_files; file->name; file++)
		if (strcmp(file->name, prelude) != 0)
			puts(file->name);
}

static int trial(int argc, char **argv)
{
	struct trial_request request = {.options = jp_trace_defaults()};
	enum { LAUNCH = 1, ATTACH = 2 };
	const struct jp_option options[] = {
		{"COMMAND", .operands = &request.command, .verbatim = true, .modes = LAUNCH,
		 .help = "run this command three times: until SIGTERM, until SIGKILL, and to its "
			 "end; a single word can be the name of a runtime (--list)"},
		{"--pid", "-p", "PID", .number = &request.pid, .min = 1, .max = INT32_MAX,
		 .modes = ATTACH, .help = "trace a running process once"},
		{"--once", .set = &request.once, .modes = LAUNCH,
		 .help = "run the command only once, to its end"},
		{.get_more = jp_trace_rows, .context = &request.options},
		{"--list", .set = &request.list, .help = "print the names of runtimes"},
		{"--json", .set = &request.json, .help = "print one JSON object"},
		{.help = "Exit status: 0 no fault; 1 a cell of the table counts faults; 4 the "
			 "runtime is not installed; 99 trial cannot trace."},
		{0}};
	jp_cleanup_free char *script = NULL;
	int status;

	if (!jp_command_line(options, argc, argv, &status))
		return status;
	if (request.list) {
		print_runtimes();
		return JP_EXIT_OK;
	}
	if (!request.command.count && !request.pid)
		return jp_command_fail_usage("trial", "expected --pid PID, a command or a runtime");
	if (request.command.count == 1)
		script = request.script = find_script(request.command.list[0]);
	request.once |= request.pid > 0;
	return jp_trace_guarded("trial", run_trial, &request);
}

JP_DEFINE(command, trial_command) = {
	.name = "trial",
	.synopsis = "trial [OPTION...] (-p PID | RUNTIME | -- COMMAND...)",
	.help = "check what a JIT publishes against what it runs",
	.run = trial,
};
