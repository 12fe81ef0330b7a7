// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/base/arguments.h"
#include "harness/base/number.h"
#include "harness/command/command.h"
#include "harness/format/truth/write.h"
#include "workloads/emit/image.h"
#include "workloads/emit/maps.h"
#include "workloads/emit/option.h"
#include "workloads/emit/publish.h"
#include "workloads/emit/workload.h"

/* Records that a truth has room for: a minute of 32 threads. The file is sparse. */
enum { SLOTS = 1 << 22 };

struct request {
	struct jp_handshake_setup setup;
	const char *truth;
	const char *publish, *publish_dir, *publish_with, *publish_children;
	struct jp_truth_task_ids parent; /* who made this process, where it began with an exec */
	uint64_t exec_tid;               /* which thread of it called exec; 0: the first */
	uint64_t execed; /* when an earlier image of this process gave way to this one */
	int proc;        /* the outside's /proc, where this process was born in a pid namespace */
	bool help;
};

static int usage(FILE *out)
{
	const struct jp_workload *workload;

	fputs("usage: jitproof workload NAME [--truth FILE] [--seed N] [--ready-fd N] "
	      "[--control-fd N|none] [OPTION...]\n\n",
	      out);
	for (size_t i = 0; (workload = jp_registry_at(JP_WORKLOAD, i)); i++)
		fprintf(out, "  %-16s %s\n", workload->name, workload->help);
	fputs("\njitproof workload NAME --help lists what NAME takes.\n", out);
	return out == stdout ? JP_EXIT_OK : JP_EXIT_USAGE;
}

/* The publishers, and what each can get wrong, in lines of its own. */
static void help_of_publishing(void)
{
	const struct jp_publisher *publisher;

	puts("  --publish=HOW[:FAULT]  how it publishes names: none, both (none), or");
	for (size_t i = 0; (publisher = jp_registry_at(JP_PUBLISHER, i)); i++) {
		const char *fault = publisher->faults;

		printf("    %-10s %s%s", publisher->name, publisher->help,
		       fault ? "; faults:" : "");
		for (unsigned n = 0; fault && *fault; n++) {
			int length = strcspn(fault, " ");

			printf("%s%.*s", n % 5 ? " " : "\n               ", length, fault);
			fault += length + (fault[length] == ' ');
		}
		putchar('\n');
	}
	puts("  --publish-dir=DIR  where to\n"
	     "  --publish-children=HOW  the same for its child processes\n"
	     "  --publish-with=A,B...  what else, if the format can: debug (lines),\n"
	     "                   debug-short (the same, each file's name once), unwinding (call\n"
	     "                   frame information behind the code), unwinding-apart (in no "
	     "memory)");
}

static int help_of(const struct jp_workload *workload)
{
	printf("usage: jitproof workload %s [OPTION...]\n%s.\n\n"
	       "  --truth FILE     the truth file; must not exist (a new file in $TMPDIR, whose\n"
	       "                   name it prints)\n"
	       "  --seed N         varies the loop lengths (1)\n"
	       "  --ready-fd N     writes \"ready PID\", \"done STEP\", \"failed STEP: why\" (1)\n"
	       "  --control-fd N   reads \"step NAME [ARG]\" and \"stop\"; its end means stop;\n"
	       "                   none: only SIGTERM and SIGINT stop the workload (0)\n",
	       workload->name, workload->help);
	for (const struct jp_option *at = workload->options; at && jp_option_is(at); at++)
		fputs(at->help ? at->help : "", stdout);
	help_of_publishing();
	return JP_EXIT_OK;
}

static bool descriptor_of(const char *text, int *fd)
{
	uint64_t number;

	if (!jp_number(text, 0, 1 << 20, &number) || fcntl((int)number, F_GETFD) < 0)
		return false;
	*fd = number;
	return true;
}

/* Takes what is common to all workloads; @rest gets what remains, and its number is returned. */
static int take_common(int argc, char **argv, struct request *request, char **rest)
{
	int kept = 0;

	for (int i = 0; i < argc; i++) {
		const char *option = argv[i], *value;
		bool good = true;

		if (!strcmp(option, "--help")) {
			request->help = true;
		} else if ((value = jp_arguments_value("--truth", argc, argv, &i))) {
			request->truth = value;
			good = *value;
		} else if ((value = jp_arguments_value("--seed", argc, argv, &i))) {
			good = jp_number(value, 0, UINT64_MAX, &request->setup.seed);
		} else if ((value = jp_arguments_value("--ready-fd", argc, argv, &i))) {
			good = descriptor_of(value, &request->setup.ready_fd);
		} else if ((value = jp_arguments_value("--control-fd", argc, argv, &i))) {
			request->setup.control_fd = -1;
			good = !strcmp(value, "none") ||
			       descriptor_of(value, &request->setup.control_fd);
		} else if ((value = jp_arguments_value("--publish", argc, argv, &i))) {
			request->publish = value;
		} else if ((value = jp_arguments_value("--publish-dir", argc, argv, &i))) {
			request->publish_dir = value;
			good = *value;
		} else if ((value = jp_arguments_value("--publish-children", argc, argv, &i))) {
			request->publish_children = value;
		} else if ((value = jp_arguments_value("--publish-with", argc, argv, &i))) {
			request->publish_with = value;
		} else if ((value = jp_arguments_value("--resumed", argc, argv, &i))) {
			good = jp_number(value, 0, UINT64_MAX, &request->execed);
			request->setup.resumed = 1;
		} else if ((value = jp_arguments_value("--started", argc, argv, &i))) {
			good = jp_number(value, 0, UINT64_MAX, &request->execed);
		} else if ((value = jp_arguments_value("--parent", argc, argv, &i))) {
			good = sscanf(value, "%" SCNu32 ":%" SCNu32, &request->parent.pid,
				      &request->parent.tid) == 2;
		} else if ((value = jp_arguments_value("--exec-tid", argc, argv, &i))) {
			good = jp_number(value, 0, UINT32_MAX, &request->exec_tid);
		} else if ((value = jp_arguments_value("--outside-proc", argc, argv, &i))) {
			good = descriptor_of(value, &request->proc);
		} else {
			rest[kept++] = argv[i];
			continue;
		}
		if (!good) {
			fprintf(stderr, "jitproof workload: bad value in '%s %s'\n", option, value);
			return -EINVAL;
		}
	}
	return kept;
}

/* @option: room for "--truth=FILE" where it had to choose a name: an exec must find the file again.
 */
static int open_truth(const char *path, bool resumed, char *option, size_t size)
{
	const char *folder = getenv("TMPDIR"), *fresh = option + strlen("--truth=");
	struct jp_error err;
	int ret;

	if (path) {
		ret = jp_truth_open(path, resumed ? 0 : SLOTS, &err);
	} else {
		snprintf(option, size, "--truth=%s/jitproof-%d-%llu.truth",
			 folder && *folder ? folder : "/tmp", getpid(),
			 (unsigned long long)jp_clock_now());
		ret = jp_truth_open(fresh, SLOTS, &err);
		if (!ret)
			fprintf(stderr, "truth: %s\n", fresh);
	}
	if (ret)
		fprintf(stderr, "jitproof workload: %s\n", err.text);
	return ret;
}

/* A workload's exit status. */
static int publish(const struct request *request)
{
	int ret = request->publish_with ? jp_publish_with(request->publish_with) : 0;

	jp_publish_children(request->publish_children);
	if (!ret)
		ret = jp_publish_begin(request->publish, request->publish_dir);
	if (ret == -EPERM)
		return jp_handshake_skip("files of another user's: only root can make them");
	return ret == -EINVAL ? JP_EXIT_USAGE : ret ? EXIT_FAILURE : EXIT_SUCCESS;
}

static int run(int argc, char **argv)
{
	struct request request = {
		.setup = {.seed = 1, .ready_fd = STDOUT_FILENO}, .publish = "none", .proc = -1};
	const struct jp_workload *workload;
	char **rest = calloc(argc + 1, sizeof(*rest)), **typed = calloc(argc + 3, sizeof(*typed));
	char truth[512];
	uint64_t now;
	int kept, status, ret;

	if (!rest || !typed) {
		fputs("jitproof workload: no memory\n", stderr);
		return JP_EXIT_BROKEN;
	}
	kept = take_common(argc, argv, &request, rest);
	if (kept < 0)
		return JP_EXIT_USAGE;
	if (kept < 2)
		return usage(request.help ? stdout : stderr);
	workload = jp_registry_find(JP_WORKLOAD, rest[1]);
	if (!workload) {
		fprintf(stderr,
			"jitproof workload: no workload '%s' (see jitproof workload --help)\n",
			rest[1]);
		return JP_EXIT_USAGE;
	}
	if (request.help)
		return help_of(workload);
	/* main() has taken the command's own name away. */
	typed[0] = "jitproof";
	memcpy(typed + 1, argv, argc * sizeof(*typed));
	request.setup.argv = typed;
	if (open_truth(request.truth, request.execed, truth, sizeof(truth)))
		return JP_EXIT_BROKEN;
	if (!request.truth)
		typed[argc + 1] = truth;
	request.setup.truth = request.truth ? request.truth : truth + strlen("--truth=");
	if (request.proc >= 0 && jp_truth_outside(request.proc)) {
		fputs("jitproof workload: --outside-proc: not a /proc that knows us\n", stderr);
		return JP_EXIT_BROKEN;
	}
	now = jp_clock_now();
	/* A namespace's number for the parent says nothing outside. */
	if (!request.parent.pid && request.proc < 0)
		request.parent.pid = getppid();
	jp_truth_process_start(request.execed ? request.execed : now,
			       request.execed ? JP_HOW_EXEC : JP_HOW_LAUNCH, request.parent,
			       request.exec_tid);
	ret = jp_image_record_program();
	if (ret) {
		fprintf(stderr, "jitproof workload: its own file: %s\n", strerror(-ret));
		return JP_EXIT_BROKEN;
	}
	jp_maps_mark();
	jp_handshake_begin(&request.setup);
	status = publish(&request);
	if (!status && !jp_handshake_stopping()) {
		status = jp_options(kept - 1, rest + 1, workload->options)
				 ?: workload->run(kept - 1, rest + 1);
		if (jp_publish_end() && !status)
			status = EXIT_FAILURE;
	}
	jp_maps_mark();
	jp_truth_process_exit();
	if (status == JP_EXIT_USAGE && !request.execed) /* nothing was run */
		unlink(request.setup.truth);
	free(rest);
	free(typed);
	return status;
}

static const struct jp_command workload_command = {
	.name = "workload",
	.synopsis = "workload NAME [OPTION...]",
	.help = "a workload alone, for pointing any profiler at",
	.run = run,
};
JP_REGISTER(command, workload_command);
