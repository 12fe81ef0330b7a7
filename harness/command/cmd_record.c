// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "harness/base/printable.h"
#include "harness/capture/capture.h"
#include "harness/command/command.h"
#include "harness/command/command_line.h"

struct record_request {
	struct jp_capture_options options;
	const char *output, *order;
	unsigned int pid;
	struct jp_operands command;
};

/* Set by the signal handler. */
static volatile sig_atomic_t caught, child_ended;
static struct jp_session *_Atomic running;

static void handle_signal(int number)
{
	struct jp_session *session = running;

	if (number == SIGCHLD)
		child_ended = 1;
	else
		caught = number;
	if (session)
		jp_session_interrupt(session);
}

static bool parse(struct record_request *request, int argc, char **argv, int *status)
{
	enum { LAUNCH = 1, ATTACH = 2 };
	const struct jp_option options[] = {
		{"-o", .value = "FILE", .text = &request->output, .is_required = true,
		 .help = "the perf.data file to write"},
		{"--pid", "-p", "PID", .number = &request->pid, .min = 1, .max = INT32_MAX,
		 .modes = ATTACH, .help = "watch a running process, and what it starts"},
		{"COMMAND", .operands = &request->command, .verbatim = true, .modes = LAUNCH,
		 .help = "start this command, and watch it"},
		{"--order", .value = "ORDER", .text = &request->order, .modes = ATTACH,
		 .help = "whether an attach first enables its events or reads /proc: enable-first "
			 "(default), snapshot-first (loses records)"},
		{.get_more = jp_capture_rows, .context = &request->options},
		{0}};

	if (!jp_command_line(options, argc, argv, status))
		return false;
	if (request->pid || request->command.count || request->options.system_wide)
		return true;
	*status = jp_command_fail_usage("record", "expected --pid PID, -a or a command");
	return false;
}

static void catch_signals(void)
{
	/* SA_RESTART: no system call needs to be interrupted. */
	struct sigaction action = {.sa_handler = handle_signal, .sa_flags = SA_RESTART};

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGHUP, &action, NULL);
	/* The recording ends when the command exits, as with perf record. Children of the command
	 * may live longer. */
	action.sa_flags |= SA_NOCLDSTOP;
	sigaction(SIGCHLD, &action, NULL);
}

/* Ends the command with SIGTERM if it still runs, as perf record does. Returns its exit status as
 * shells report it. */
static int reap_command(pid_t pid)
{
	int status;

	if (!child_ended)
		kill(pid, SIGTERM);
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return JP_EXIT_OK;
	if (WIFSIGNALED(status))
		return 128 + WTERMSIG(status);
	return WEXITSTATUS(status);
}

static uint64_t get_size(const char *path)
{
	struct stat st;

	return stat(path, &st) ? 0 : (uint64_t)st.st_size;
}

static const struct jp_capture *find_plain_capture(bool launches)
{
	const unsigned int traits = JP_CAPTURE_PLAIN | (launches ? JP_CAPTURE_LAUNCHES : 0);
	const struct jp_capture *capture = NULL;

	while ((capture = jp_registry_next(JP_CAPTURE, capture)) && capture->traits != traits)
		;
	return capture;
}

/* Starts the session. Returns NULL and a message on errors. */
static struct jp_session *start_session(struct record_request *request, struct jp_target *target,
					struct jp_error *err)
{
	const struct jp_capture *capture = find_plain_capture(request->command.count);
	char name[64], order[64], *policy[] = {name, order, NULL};

	if (!capture) {
		jp_fail(err, EINVAL, "no capture for record is built in: the build is broken");
		return NULL;
	}
	snprintf(name, sizeof(name), "%s", capture->name);
	snprintf(order, sizeof(order), "--order=%s", request->order ?: "");
	/* Record data mappings too: perf with libunwind reads .eh_frame through them
	 * (docs/unwinding.md). */
	request->options.all_maps |= request->options.stack > 0;
	target->pid = (pid_t)request->pid;
	target->command = request->command.list;
	return jp_session_start(capture, request->order ? 2 : 1, policy, &request->options, target,
				NULL, request->output, err);
}

/* Ends @session and prints its result. Returns 0, or -errno and a message. */
static int finish_session(struct jp_session *session, const struct record_request *request,
			  struct jp_error *err)
{
	uint64_t samples, lost_samples, lost_sideband;
	uint32_t frequency;
	char silence[256];
	int ret;

	jp_session_stop(session, &lost_samples, &lost_sideband);
	samples = jp_session_samples(session);
	jp_session_explain_silence(session, silence, sizeof(silence));
	frequency = jp_session_frequency(session);
	ret = jp_session_finish(session, err);
	if (ret)
		return ret;
	fprintf(stderr,
		"jitproof record: %" PRIu64 " samples, %" PRIu64 " lost, %" PRIu64
		" mapping records lost, ",
		samples, lost_samples, lost_sideband);
	jp_printable_put(stderr, request->output);
	fprintf(stderr, " (%" PRIu64 " bytes)\n", get_size(request->output));
	if (frequency < request->options.frequency)
		fprintf(stderr,
			"jitproof record: note: %u samples a second and thread, not %u: for more, "
			"larger rings (--ring, RLIMIT_MEMLOCK), smaller --stack, or "
			"kernel.perf_event_max_sample_rate\n",
			frequency, request->options.frequency);
	if (!samples)
		fprintf(stderr, "jitproof record: no samples: %s\n", silence);
	return 0;
}

static int record(int argc, char **argv)
{
	struct record_request request = {.options = jp_capture_defaults()};
	struct jp_target target = {.inherit_fds = {-1, -1, -1, -1}};
	struct jp_session *session;
	struct jp_error err = {""};
	int status;

	if (!parse(&request, argc, argv, &status) || !jp_command_can_record("record", &status))
		return status;
	catch_signals();
	session = start_session(&request, &target, &err);
	if (session) {
		if (!request.command.count)
			fprintf(stderr, "jitproof record: recording until %s or Ctrl-C\n",
				request.pid ? "the process ends" : "SIGTERM");
		running = session;
		if (!caught && !child_ended)
			jp_session_wait(session, 0, UINT64_MAX);
		running = NULL;
		if (request.command.count)
			status = reap_command(target.pid);
	}
	if (!session || finish_session(session, &request, &err)) {
		jp_command_fail("record", &err);
		return JP_EXIT_BAD;
	}
	if (caught) {
		/* End by the same signal, so that the parent sees it, as with perf record. */
		signal(caught, SIG_DFL);
		raise(caught);
	}
	return status;
}

JP_DEFINE(command, command) = {
	.name = "record",
	.synopsis = "record [OPTION...] -o FILE (-p PID | -a | -- COMMAND...)",
	.help = "watch a program, write a perf.data file",
	.run = record,
};
