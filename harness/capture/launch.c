// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/capture/session.h"

/* A command that the session starts itself: its events are there, disabled, before it execs, and
 * exec enables them before the new image maps anything. */

/* Our end and the child's of one channel: a byte from us lets it exec, its end of file says that it
 * did, a number from it is errno. */
struct channel {
	int ours, childs;
};

/* Between fork and exec: only what may be called there. */
static _Noreturn void child(struct jp_session *session, const struct channel *channel)
{
	const struct jp_target *target = session->target;
	char byte;
	ssize_t size;
	int error;

	close(channel->ours);
	setrlimit(RLIMIT_NOFILE, &session->files);
	if (target->dies_with_us)
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (int i = 0; i < 4 && target->inherit_fds[i] >= 0; i++)
		fcntl(target->inherit_fds[i], F_SETFD, 0);
	do {
		size = read(channel->childs, &byte, 1);
	} while (size < 0 && errno == EINTR);
	if (size == 1) {
		execvp(target->command[0], target->command);
		error = errno;
		send(channel->childs, &error, sizeof(error), MSG_NOSIGNAL);
	}
	_exit(127);
}

static int open_events(struct jp_session *session, struct jp_error *err)
{
	int ret;

	jp_drain_watch(session, session->target->pid);
	if (session->options.system_wide)
		return jp_session_attach(session, false, true, err);
	ret = jp_open_thread(session, JP_SIDEBAND, session->target->pid, err);
	if (!ret)
		ret = jp_open_thread(session, JP_SAMPLING, session->target->pid, err);
	if (ret == -ESRCH)
		return jp_fail(err, ESRCH, "%s: killed before it started",
			       session->target->command[0]);
	session->threads = 1;
	if (!ret)
		jp_session_tell_kernel(session);
	return ret;
}

static int release(struct jp_session *session, int ours, struct jp_error *err)
{
	const char *name = session->target->command[0];
	int error = 0;
	ssize_t size;

	if (!session->options.system_wide) {
		/* Exec enables; what comes before it is ours, not the command's. */
		session->facts.enabled = jp_capture_now();
		session->first_enabled = session->facts.enabled;
		jp_session_sampling(session);
	}
	if (send(ours, "", 1, MSG_NOSIGNAL) != 1)
		return jp_fail(err, errno, "%s: killed before it started", name);
	do {
		size = recv(ours, &error, sizeof(error), 0);
	} while (size < 0 && errno == EINTR);
	if (size == 0)
		return 0;
	if (size != sizeof(error))
		error = EIO;
	return jp_fail(err, error, "%s: %s", name, strerror(error));
}

static int begin(struct jp_session *session, int argc, char **argv, struct jp_error *err)
{
	struct channel channel;
	pid_t pid;
	int ends[2], ret;

	if (argc > 1)
		return jp_fail(err, EINVAL, "launch: unknown option '%s'", argv[1]);
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
		return jp_fail(err, errno, "socketpair: %s", strerror(errno));
	channel = (struct channel){ends[0], ends[1]};
	pid = fork();
	if (pid == 0)
		child(session, &channel);
	close(channel.childs);
	if (pid < 0) {
		ret = jp_fail(err, errno, "fork: %s", strerror(errno));
		close(channel.ours);
		return ret;
	}
	session->target->pid = pid;
	ret = open_events(session, err);
	if (!ret)
		ret = release(session, channel.ours, err);
	close(channel.ours); /* a child that still waits reads the end of file, and leaves */
	if (ret) {
		while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
			;
		session->target->pid = 0;
	}
	return ret;
}

static const struct jp_capture launch = {
	.name = "launch",
	.help = "a command from its first instruction on",
	.launches = true,
	.begin = begin,
};
JP_REGISTER(capture, launch);
