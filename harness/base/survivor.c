// SPDX-License-Identifier: GPL-2.0-only
#include "harness/base/survivor.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/base/children.h"
#include "harness/base/exits.h"
#include "harness/base/interrupt.h"

/* Pid of the acting process, used in the surviving process. */
static volatile pid_t acting;

static void pass_signal_on(int number)
{
	if (acting > 0)
		kill(acting, number);
}

void jp_survivor_signals(void (*handler)(int number))
{
	const struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGHUP, &action, NULL);
}

/* Forks as fork() does. The child gets SIGTERM when the parent ends. */
static pid_t fork_child_that_dies_with_us(struct jp_error *err)
{
	const pid_t parent = getpid();
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (pid < 0)
		return jp_fail(err, errno, "fork: %s", strerror(errno));
	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != parent)
		raise(SIGTERM);
	return 0;
}

int jp_survivor_wait_alone(void)
{
	int status;

	while (waitpid(acting, &status, 0) < 0)
		if (errno != EINTR)
			return -1;
	acting = 0;
	return status;
}

pid_t jp_survivor_fork_alone(struct jp_error *err)
{
	const pid_t pid = fork_child_that_dies_with_us(err);

	if (pid > 0) {
		acting = pid;
		jp_survivor_signals(pass_signal_on);
	}
	return pid;
}

/* Protects children from before this program's exec, and their descendants, from
 * jp_children_kill_all(). If there are any, forks a process, which does not have them and returns 0
 * here; this process waits for it and exits with its status. */
static int separate_from_inherited_children(struct jp_error *err)
{
	siginfo_t info;
	pid_t pid;
	int status;

	if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT | __WALL) && errno == ECHILD)
		return 0;
	pid = jp_survivor_fork_alone(err);
	if (pid <= 0)
		return pid;
	status = jp_survivor_wait_alone();
	if (status >= 0 && WIFEXITED(status))
		_exit(WEXITSTATUS(status));
	if (status >= 0) {
		jp_survivor_signals(SIG_DFL);
		raise(WTERMSIG(status));
	}
	_exit(JP_EXIT_BROKEN);
}

pid_t jp_survivor_fork(int *channel, struct jp_error *err)
{
	int ends[2], ret = separate_from_inherited_children(err);
	pid_t pid;

	if (ret)
		return ret;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
		return jp_fail(err, errno, "socketpair: %s", strerror(errno));
	jp_children_adopt_orphans();
	pid = fork_child_that_dies_with_us(err);
	if (pid < 0) {
		close(ends[0]);
		close(ends[1]);
		return pid;
	}
	close(ends[!pid]);
	*channel = ends[!!pid];
	if (pid) {
		acting = pid;
		jp_survivor_signals(pass_signal_on);
		return pid;
	}
	/* Children that this process starts later would survive it, so signals must not end it
	 * before it cleans up. */
	if (jp_interrupt_watch())
		return jp_fail(err, errno, "cannot watch signals: %s", strerror(errno));
	return 0;
}

void jp_survivor_end(void)
{
	pass_signal_on(SIGTERM);
}

int jp_survivor_wait(void)
{
	const int status = jp_survivor_wait_alone();

	if (status >= 0)
		jp_children_kill_all();
	return status;
}

int jp_survivor_status(const char *command, int waited)
{
	if (waited < 0)
		return JP_EXIT_BROKEN;
	if (WIFEXITED(waited))
		return WEXITSTATUS(waited);
	/* End by the signal that ended the acting process, so that the shell sees it. */
	jp_survivor_signals(SIG_DFL);
	if (WTERMSIG(waited) != SIGKILL)
		raise(WTERMSIG(waited));
	fprintf(stderr, "jitproof %s: killed by signal %d (%s)\n", command, WTERMSIG(waited),
		strsignal(WTERMSIG(waited)));
	return JP_EXIT_BROKEN;
}
