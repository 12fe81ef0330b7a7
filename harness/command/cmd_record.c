// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/base/number.h"
#include "harness/capture/capture.h"
#include "harness/command/command.h"

struct record_request {
	struct jp_capture_options options;
	const char *output;
	pid_t pid;
	char **command;  /* NULL: none */
	char *policy[8]; /* its own options; [0] is its name */
	int nr_policy;
};

/* What the signal handler needs. */
static volatile sig_atomic_t caught, child_ended;
static struct jp_session *_Atomic running;

static void on_signal(int number)
{
	struct jp_session *session = running;

	if (number == SIGCHLD)
		child_ended = 1;
	else
		caught = number;
	if (session)
		jp_session_interrupt(session);
}

static int usage(FILE *out)
{
	fputs("usage: jitproof record [options] -o FILE (-p PID | -a | -- COMMAND [ARGUMENT...])\n"
	      "\n"
	      "  -o FILE            the perf.data file to write\n"
	      "  -p PID             watch a running process, and what it starts\n"
	      "  -a                 watch everything; with a command, while it runs\n"
	      "  -F HZ              samples per second and thread (997)\n"
	      "  --stack N          bytes of user stack with each sample (0)\n"
	      "  --no-chain         no callchains from the kernel\n"
	      "  --callchain=deferred  walk their user part when the thread returns to user\n"
	      "                     space: from 6.19 (default: sample, at once)\n"
	      "  --synth=WHAT       which mappings older than the capture to record:\n"
	      "                     none, paths, exec (default), all\n"
	      "  --task-clock       sample task-clock instead of cpu-clock\n"
	      "  --user-only        do not sample the kernel\n"
	      "  --kernel           fail if the kernel may not be sampled (default: leave it "
	      "out)\n"
	      "  --all-maps         record mappings of data, too, as --stack does\n"
	      "  --ring=BYTES       size of a CPU's ring of samples\n"
	      "  --sideband-ring=BYTES  size of its ring of mappings, processes and names\n"
	      "  --order=ORDER      with -p: enable-first (default), snapshot-first (loses "
	      "records)\n",
	      out);
	return out == stdout ? JP_EXIT_OK : JP_EXIT_USAGE;
}

static int complain(const char *format, const char *what)
{
	fputs("jitproof record: ", stderr);
	fprintf(stderr, format, what);
	fputs(" (see jitproof record --help)\n", stderr);
	return JP_EXIT_USAGE;
}

/* Short options and those that perf users write as two words. 1: taken, with its value where it has
 * one; 0: not one of these; < 0: its value is missing or bad. */
static int take_short(struct record_request *request, int argc, char **argv, int *at)
{
	const char *arg = argv[*at], *value = *at + 1 < argc ? argv[*at + 1] : NULL;
	struct jp_error err;
	char text[64];
	static const char *const names[] = {"--freq", "--stack", "--synth", "--ring"};
	const char *name = strcmp(arg, "-F") == 0 ? names[0] : NULL;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && !name; i++)
		name = strcmp(arg, names[i]) == 0 ? names[i] : NULL;
	if (strcmp(arg, "-a") == 0) {
		request->options.system_wide = true;
		return 1;
	}
	if (!name && strcmp(arg, "-o") != 0 && strcmp(arg, "-p") != 0)
		return 0;
	if (!value)
		return -complain("%s: a value was expected", arg);
	++*at;
	if (strcmp(arg, "-o") == 0) {
		request->output = value;
	} else if (strcmp(arg, "-p") == 0) {
		uint64_t pid;

		if (!jp_number(value, 1, INT32_MAX, &pid))
			return -complain("-p %s: the number of a process was expected", value);
		request->pid = (pid_t)pid;
	} else {
		snprintf(text, sizeof(text), "%s=%s", name, value);
		if (jp_capture_option(&request->options, text, &err) < 0)
			return -complain("%s", err.text);
	}
	return 1;
}

static int parse(struct record_request *request, int argc, char **argv)
{
	struct jp_error err;
	int ret;

	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--") == 0) {
			request->command = i + 1 < argc ? argv + i + 1 : NULL;
			break;
		}
		if (argv[i][0] != '-') {
			request->command = argv + i;
			break;
		}
		ret = take_short(request, argc, argv, &i);
		if (ret < 0)
			return -ret;
		if (ret)
			continue;
		ret = jp_capture_option(&request->options, argv[i], &err);
		if (ret < 0)
			return complain("%s", err.text);
		if (ret)
			continue;
		if (strncmp(argv[i], "--order=", 8) != 0 || request->nr_policy == 7)
			return complain("unknown option '%s'", argv[i]);
		request->policy[request->nr_policy++] = argv[i];
	}
	if (!request->output)
		return complain("%s", "-o FILE was expected");
	if (request->pid && request->command)
		return complain("%s", "-p PID and a command: one of them was expected");
	if (!request->pid && !request->command && !request->options.system_wide)
		return complain("%s", "-p PID, -a or a command was expected");
	return 0;
}

static void catch_signals(void)
{
	/* No SA_RESTART needed: nobody waits in a system call that a signal must end. */
	struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGHUP, &action, NULL);
	/* The command's end is the recording's, as with perf record; what it leaves behind is not
	 * waited for. */
	action.sa_flags |= SA_NOCLDSTOP;
	sigaction(SIGCHLD, &action, NULL);
}

/* The command's status as a shell gives it. One that still runs when we end is asked to
 * end, as perf record does. */
static int reap(pid_t pid)
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

static uint64_t size_of(const char *path)
{
	struct stat st;

	return stat(path, &st) ? 0 : (uint64_t)st.st_size;
}

static const struct jp_capture *plain_capture(bool launches)
{
	const unsigned int traits = JP_CAPTURE_PLAIN | (launches ? JP_CAPTURE_LAUNCHES : 0);
	const struct jp_capture *capture;

	for (size_t i = 0; (capture = jp_registry_at(JP_CAPTURE, i)); i++)
		if (capture->traits == traits)
			return capture;
	return NULL;
}

static int record(int argc, char **argv)
{
	struct record_request request = {.options = jp_capture_defaults(), .nr_policy = 1};
	struct jp_target target = {.inherit_fds = {-1, -1, -1, -1}};
	const struct jp_capture *capture;
	struct jp_session *session;
	uint64_t samples, lost_samples, lost_sideband;
	uint32_t frequency;
	struct jp_error err = {""};
	char name[64], silence[256];
	int ret, status = JP_EXIT_OK;

	if (argc == 2 && strcmp(argv[1], "--help") == 0)
		return usage(stdout);
	ret = parse(&request, argc, argv);
	if (ret)
		return ret;
	capture = plain_capture(request.command);
	if (!capture) {
		fprintf(stderr, "jitproof record: no capture is plain: the build is broken\n");
		return JP_EXIT_BROKEN;
	}
	snprintf(name, sizeof(name), "%s", capture->name);
	request.policy[0] = name;
	/* perf by libunwind reads .eh_frame through the mappings of data (docs/unwinding.md). */
	request.options.all_maps |= request.options.stack > 0;
	target.pid = request.pid;
	target.command = request.command;
	catch_signals();
	session = jp_session_start(capture, request.nr_policy, request.policy, &request.options,
				   &target, NULL, request.output, &err);
	if (!session) {
		fprintf(stderr, "jitproof record: %s\n", err.text);
		return JP_EXIT_BAD;
	}
	running = session;
	if (!caught && !child_ended)
		jp_session_wait(session, 0, UINT64_MAX);
	running = NULL;
	if (request.command)
		status = reap(target.pid);
	jp_session_stop(session, &lost_samples, &lost_sideband);
	samples = jp_session_samples(session);
	jp_session_silence(session, silence, sizeof(silence));
	frequency = jp_session_frequency(session);
	ret = jp_session_finish(session, &err);
	if (ret) {
		fprintf(stderr, "jitproof record: %s\n", err.text);
		return JP_EXIT_BAD;
	}
	fprintf(stderr,
		"jitproof record: %" PRIu64 " samples, %" PRIu64 " lost, %" PRIu64
		" mapping records lost, %s (%" PRIu64 " bytes)\n",
		samples, lost_samples, lost_sideband, request.output, size_of(request.output));
	if (frequency < request.options.frequency)
		fprintf(stderr,
			"jitproof record: note: %u samples a second and thread, not %u: for more, "
			"larger rings (--ring, RLIMIT_MEMLOCK), smaller --stack, or "
			"kernel.perf_event_max_sample_rate\n",
			frequency, request.options.frequency);
	if (!samples)
		fprintf(stderr, "jitproof record: no samples: %s\n", silence);
	if (caught) {
		/* Our parent learns what ended us, as from perf record. */
		signal(caught, SIG_DFL);
		raise(caught);
	}
	return status;
}

static const struct jp_command command = {
	.name = "record",
	.synopsis = "record [options] -o FILE (-p PID | -- CMD...)",
	.help = "watch a program, write a perf.data file",
	.run = record,
};
JP_REGISTER(command, command);
