// SPDX-License-Identifier: GPL-2.0-only
#include "harness/capture/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/base/cleanup.h"
#include "harness/base/interrupt.h"
#include "harness/capture/attach.h"
#include "harness/capture/drain.h"
#include "harness/capture/event_open.h"
#include "harness/capture/probe.h"
#include "harness/capture/recording.h"
#include "harness/capture/session.h"

/* Starts a command. The child waits before its exec, so that its events exist before the new image
 * maps anything. A byte on the channel allows the exec. Then an end of file on the channel reports
 * that the exec succeeded, or a message has the errno with which it failed. */

/* Runs between fork and exec: calls only functions that are allowed there. */
static _Noreturn void exec_command(struct jp_session *session, int parent_end, int own_end,
				   char **environment)
{
	const struct jp_target *target = session->target;
	char byte;
	ssize_t size;
	int error;

	close(parent_end);
	setrlimit(RLIMIT_NOFILE, &session->files);
	if (target->dies_with_us)
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (int i = 0; i < 4 && target->inherit_fds[i] >= 0; i++)
		fcntl(target->inherit_fds[i], F_SETFD, 0);
	do {
		size = read(own_end, &byte, 1);
	} while (size < 0 && errno == EINTR);
	if (size == 1) {
		jp_interrupt_restore_pipe_signals();
		execvpe(target->command[0], target->command, environment);
		error = errno;
		send(own_end, &error, sizeof(error), MSG_NOSIGNAL);
	}
	_exit(127);
}

static char **build_environment(char *adapter_variable)
{
	size_t count = 0, nr_kept = 0;
	char **copy;

	while (environ[count])
		count++;
	copy = calloc(count + 2, sizeof(*copy));
	for (size_t i = 0; copy && i < count; i++)
		if (!adapter_variable ||
		    strncmp(environ[i], adapter_variable, strcspn(adapter_variable, "=") + 1))
			copy[nr_kept++] = environ[i];
	if (copy)
		copy[nr_kept] = adapter_variable;
	return copy;
}

static int fork_command(struct jp_session *session, char *adapter_variable, struct jp_error *err)
{
	jp_cleanup_free char **environment = build_environment(adapter_variable);
	int ends[2];
	pid_t pid;

	if (!environment)
		return jp_fail(err, ENOMEM, "out of memory for the environment");
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
		return jp_fail(err, errno, "socketpair: %s", strerror(errno));
	pid = fork();
	if (pid == 0)
		exec_command(session, ends[0], ends[1], environment);
	close(ends[1]);
	if (pid < 0) {
		close(ends[0]);
		return jp_fail(err, errno, "fork: %s", strerror(errno));
	}
	session->target->pid = pid;
	jp_drain_watch(session, pid);
	return ends[0];
}

/* Allows the child's exec, and waits until it has succeeded or failed. */
static int release_command(struct jp_session *session, int channel, struct jp_error *err)
{
	const char *name = session->target->command[0];
	int error = 0;
	ssize_t size;

	if (send(channel, "", 1, MSG_NOSIGNAL) != 1)
		return jp_fail(err, errno, "%s: killed before it started", name);
	do {
		size = recv(channel, &error, sizeof(error), 0);
	} while (size < 0 && errno == EINTR);
	if (size == 0)
		return 0;
	if (size != sizeof(error))
		error = EIO;
	return jp_fail(err, error, "%s: %s", name, strerror(error));
}

int jp_start_command(struct jp_session *session, char *adapter_variable,
		     int (*open_events)(struct jp_session *session, struct jp_error *err),
		     struct jp_error *err)
{
	int channel = fork_command(session, adapter_variable, err), ret;

	if (channel < 0)
		return channel;
	ret = open_events(session, err) ?: release_command(session, channel, err);
	close(channel); /* a child that still waits for the byte exits */
	if (!ret)
		return 0;
	while (waitpid(session->target->pid, NULL, 0) < 0 && errno == EINTR)
		;
	session->target->pid = 0;
	return ret;
}

/* A capture that records a command from its first instruction: the events are opened before the
 * command's exec, which enables them before the new image maps anything. */

static int open_events(struct jp_session *session, struct jp_error *err)
{
	if (session->options.system_wide)
		return jp_attach(session, false, true, err);
	/* The exec enables the events: actions before it are those of this program's child, not of
	 * the command. */
	return jp_open_command(session, err) ?: jp_recorder_note_enabled(session);
}

static int begin(struct jp_session *session, int argc, char **argv, struct jp_error *err)
{
	if (argc > 1)
		return jp_fail(err, EINVAL, "launch: unknown option '%s'", argv[1]);
	return jp_recorder_begin(session, !session->options.system_wide, err)
		       ?: jp_start_command(session, NULL, open_events, err);
}

JP_DEFINE(capture, launch) = {
	.name = "launch",
	.traits = JP_CAPTURE_LAUNCHES | JP_CAPTURE_PLAIN,
	.probe = jp_probe_clock,
	.begin = begin,
	.stop = jp_recorder_stop,
	.finish = jp_recorder_finish,
	.free = jp_recorder_free,
};
