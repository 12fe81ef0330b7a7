// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/base/number.h"
#include "harness/base/printable.h"
#include "harness/base/terminal.h"
#include "harness/command/command.h"
#include "harness/command/command_line.h"
#include "harness/command/values.h"
#include "harness/command/workload_rows.h"
#include "harness/format/truth/write.h"
#include "workloads/emit/image.h"
#include "workloads/emit/maps.h"
#include "workloads/emit/noexec.h"
#include "workloads/emit/publish.h"
#include "workloads/emit/workload.h"

/* Most records of a truth file: enough for 32 threads for a minute. The file is sparse. */
enum { SLOTS = 1 << 22 };

struct request {
	struct jp_handshake_setup setup;
	const char *truth;
	const char *publish, *publish_dir, *publish_with, *publish_children;
	/* Creator of this process, from --parent, which a process passes on when it calls exec; all
	 * zero: unknown. */
	struct jp_truth_task_ids parent;
	uint64_t exec_tid; /* the thread that called exec; 0: the first thread */
	/* Time in ns of the exec by which a workload started this program again; 0: no exec. */
	uint64_t execed;
	/* Descriptor of the /proc outside, if this process is in a new pid namespace; -1: none. */
	int proc;
	const struct jp_workload *workload;
};

static struct request request = {
	.setup = {.seed = 1, .shorter = 1, .ready_fd = STDOUT_FILENO, .hold_fd = -1},
	.publish = "none",
	.proc = -1};

/* Prints the part of the help below the options: the workloads, unless one was chosen, and the
 * publishers with their possible faults. */
static void print_names(FILE *out)
{
	const struct jp_workload *workload = NULL;
	const struct jp_publisher *publisher = NULL;

	if (!request.workload)
		fputs("\nWorkloads (NAME --help lists the options of NAME):\n", out);
	while (!request.workload && (workload = jp_registry_next(JP_WORKLOAD, workload))) {
		fprintf(out, "  %-16s ", workload->name);
		jp_terminal_put_words(out, workload->help, 19, jp_terminal_width(fileno(out)));
	}
	fputs("\nHOW they publish names: none, both, or\n", out);
	while ((publisher = jp_registry_next(JP_PUBLISHER, publisher))) {
		char text[1024];

		snprintf(text, sizeof(text), "%s%s%s", publisher->help,
			 publisher->faults ? "; faults: " : "", publisher->faults ?: "");
		fprintf(out, "    %-10s ", publisher->name);
		jp_terminal_put_words(out, text, 15, jp_terminal_width(fileno(out)));
	}
}

static int parse_descriptor(const struct jp_option *option, const char *text, struct jp_error *err)
{
	int *fd = option->context;
	uint64_t number;

	if (!jp_number(text, 0, 1 << 20, &number) || fcntl((int)number, F_GETFD) < 0)
		return jp_fail(err, EINVAL, "%s=%s: expected an open file descriptor", option->name,
			       text);
	*fd = (int)number;
	return 0;
}

static int parse_control(const struct jp_option *option, const char *text, struct jp_error *err)
{
	if (strcmp(text, "none") != 0)
		return parse_descriptor(option, text, err);
	*(int *)option->context = -1;
	return 0;
}

static int parse_parent(const struct jp_option *option, const char *text, struct jp_error *err)
{
	struct jp_truth_task_ids *parent = option->context;

	if (sscanf(text, "%" SCNu32 ":%" SCNu32, &parent->pid, &parent->tid) != 2)
		return jp_fail(err, EINVAL, "--parent=%s: expected PID:TID", text);
	return 0;
}

static int parse_name(const struct jp_option *option, const char *text, struct jp_error *err)
{
	char hint[120];

	request.workload = jp_registry_find(JP_WORKLOAD, text);
	if (request.workload)
		return 0;
	return jp_fail(err, EINVAL, "no workload '%s'%s", text,
		       jp_registry_hint(JP_WORKLOAD, text, hint, sizeof(hint)));
}

static const struct jp_option *get_workload_rows(void *context)
{
	return request.workload ? request.workload->options : NULL;
}

const struct jp_option *jp_workload_publish_rows(void *context)
{
	static const struct jp_option rows[] = {
		{"--publish", .value = "HOW[:FAULT]", .text = &request.publish,
		 .print_values = jp_print_publishers,
		 .help = "how the workload publishes function names (default: none)"},
		{"--publish-dir", .value = "DIR", .text = &request.publish_dir,
		 .help = "the folder in which it publishes"},
		{"--publish-children", .value = "HOW", .text = &request.publish_children,
		 .print_values = jp_print_publishers,
		 .help = "how its child processes publish names"},
		{"--publish-with", .value = "A,B...", .text = &request.publish_with,
		 .print_values = jp_publish_print_extras,
		 .help = "also publish, if the format can: debug (line numbers), debug-short (the "
			 "same, with each file's name once), unwinding (call frame information "
			 "behind the code), unwinding-apart (the same, outside of the mapped "
			 "memory)"},
		{0}};

	return rows;
}

static bool parse(int argc, char **argv, int *status)
{
	static uint64_t started, resumed;
	/* The table is static, so that stack dumps of the workload do not contain it. */
	static const struct jp_option options[] = {
		{"NAME", .parse = parse_name, .print_values = jp_print_workloads,
		 .help = "a workload"},
		{.get_more = get_workload_rows},
		{.help = "Options of every workload:"},
		{"--truth", .value = "FILE", .text = &request.truth,
		 .help = "the truth file to write, which must not exist (default: one in "
			 "$TMPDIR, whose name it prints)"},
		{"--seed", .value = "N", .number64 = &request.setup.seed,
		 .help = "number that varies the loop lengths (default: 1)"},
		{"--shorter", .value = "N", .number64 = &request.setup.shorter, .min = 1,
		 .max = 1000000,
		 .help = "divides loop lengths by N, for single steps (default: 1)"},
		{"--ready-fd", .value = "N", .parse = parse_descriptor,
		 .context = &request.setup.ready_fd,
		 .help = "the descriptor to write \"ready PID\", \"done STEP\" and \"failed STEP: "
			 "why\" to (default: 1)"},
		{"--control-fd", .value = "N", .parse = parse_control,
		 .context = &request.setup.control_fd,
		 .help = "the descriptor to read \"step NAME [ARG]\" and \"stop\" from, whose end "
			 "means stop; none: only "
			 "SIGTERM and SIGINT stop the workload (default: 0)"},
		{"--hold-fd", .value = "N", .parse = parse_descriptor,
		 .context = &request.setup.hold_fd,
		 .help = "a socket to which the workload sends its pid before it runs any code; it "
			 "waits for an answer (default: none)"},
		{.get_more = jp_workload_publish_rows},
		/* Options that this program passes to itself when a workload makes an exec. */
		{"--resumed", .number64 = &resumed},
		{"--started", .number64 = &started},
		{"--parent", .parse = parse_parent, .context = &request.parent},
		{"--exec-tid", .number64 = &request.exec_tid, .max = UINT32_MAX},
		{"--outside-proc", .parse = parse_descriptor, .context = &request.proc},
		{0}};

	if (!jp_command_line(options, argc, argv, status))
		return false;
	if (!request.workload) {
		*status = jp_command_fail_usage("workload", "expected NAME");
		return false;
	}
	request.setup.resumed = resumed != 0;
	request.execed = resumed ?: started;
	return true;
}

/* Opens the truth file @path (@is_resumed: an existing one, after an exec). If @path is NULL,
 * creates a temporary file and stores "--truth=FILE" in @option, which the program needs after an
 * exec. Returns 0, or -errno after printing an error. */
static int open_truth(const char *path, bool is_resumed, char *option, size_t size)
{
	const char *folder = getenv("TMPDIR"), *fresh = option + strlen("--truth=");
	struct jp_error err;
	int ret;

	if (path) {
		ret = jp_truth_open(path, is_resumed ? 0 : SLOTS, &err);
	} else {
		snprintf(option, size, "--truth=%s/jitproof-%d-%llu.truth",
			 folder && *folder ? folder : "/tmp", getpid(),
			 (unsigned long long)jp_clock_now());
		ret = jp_truth_open(fresh, SLOTS, &err);
		if (!ret) {
			fputs("truth: ", stderr);
			jp_printable_put(stderr, fresh);
			fputc('\n', stderr);
		}
	}
	if (ret)
		jp_command_fail("workload", &err);
	return ret;
}

/* Sets up the publishers of names. Returns 0 to continue, or the exit status. */
static int begin_publishing(void)
{
	int ret = request.publish_with ? jp_publish_select_extras(request.publish_with) : 0;

	jp_publish_children(request.publish_children);
	if (!ret)
		ret = jp_publish_begin(request.publish, request.publish_dir);
	if (ret == -EPERM && request.publish_dir && jp_noexec_skip_workload(request.publish_dir))
		return EXIT_SUCCESS;
	if (ret == -EPERM)
		return jp_handshake_skip("only root can make files of another user");
	return ret == -EINVAL ? JP_EXIT_USAGE : ret ? EXIT_FAILURE : EXIT_SUCCESS;
}

/* Writes the first records of the truth: this process and its program file. Returns 0 or -errno. */
static int record_start(void)
{
	const uint64_t now = jp_clock_now();
	int ret;

	/* In a new pid namespace, getppid() has no meaning outside. */
	if (!request.parent.pid && request.proc < 0)
		request.parent.pid = getppid();
	jp_truth_process_start(request.execed ? request.execed : now,
			       request.execed ? JP_START_EXEC : JP_START_LAUNCH, request.parent,
			       request.exec_tid);
	ret = jp_image_record_program();
	if (ret)
		fprintf(stderr, "jitproof workload: its own file: %s\n", strerror(-ret));
	return ret;
}

/* Runs the workload; its truth file is open. Returns the exit status. */
static int run_workload(void)
{
	char *argv[] = {(char *)request.workload->name, NULL};
	int status;

	if (request.proc >= 0 && jp_truth_set_outer_proc(request.proc)) {
		fputs("jitproof workload: --outside-proc: expected a /proc that shows this "
		      "process\n",
		      stderr);
		return JP_EXIT_BROKEN;
	}
	if (record_start())
		return JP_EXIT_BROKEN;
	jp_maps_record_all();
	jp_handshake_begin(&request.setup);
	if (!request.execed)
		jp_handshake_wait_for_watcher();
	status = begin_publishing();
	if (!status && !jp_handshake_is_stopping()) {
		status = request.workload->run(1, argv);
		if (jp_publish_end() && !status)
			status = EXIT_FAILURE;
	}
	jp_maps_record_all();
	jp_truth_process_exit();
	/* A wrong command line: no workload ran. */
	if (status == JP_EXIT_USAGE && !request.execed)
		unlink(request.setup.truth);
	return status;
}

static int run(int argc, char **argv)
{
	char **typed = calloc(argc + 3, sizeof(*typed));
	char truth[512];
	int status;

	if (!typed) {
		fputs("jitproof workload: no memory\n", stderr);
		return JP_EXIT_BROKEN;
	}
	/* main() removed argv[0], the name of this program. */
	typed[0] = "jitproof";
	memcpy(typed + 1, argv, argc * sizeof(*typed));
	request.setup.argv = typed;
	if (parse(argc, argv, &status)) {
		status = JP_EXIT_BROKEN;
		if (!open_truth(request.truth, request.execed, truth, sizeof(truth))) {
			if (!request.truth)
				typed[argc + 1] = truth;
			request.setup.truth = request.truth ?: truth + strlen("--truth=");
			status = run_workload();
		}
	}
	free(typed);
	return status;
}

JP_DEFINE(command, workload_command) = {
	.name = "workload",
	.synopsis = "workload NAME [OPTION...]",
	.help = "run a workload alone, for any profiler to watch",
	.run = run,
	.print_more = print_names,
};
