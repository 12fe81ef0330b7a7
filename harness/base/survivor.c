// SPDX-License-Identifier: GPL-2.0-only
#include "harness/base/survivor.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/base/children.h"
#include "harness/base/exits.h"
#include "harness/base/interrupt.h"

/* In the process that survives. */
static volatile pid_t acting;

static void pass_on(int number)
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

pid_t jp_survivor_fork(struct jp_error *err)
{
	const pid_t own = getpid();
	pid_t pid;

	jp_children_adopt();
	fflush(NULL);
	pid = fork();
	if (pid < 0)
		return jp_fail(err, errno, "fork: %s", strerror(errno));
	if (pid) {
		acting = pid;
		jp_survivor_signals(pass_on);
		return pid;
	}
	/* What is made from here on would stay: nothing may end us unseen. */
	if (jp_interrupt_watch())
		return jp_fail(err, errno, "signals: %s", strerror(errno));
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != own)
		raise(SIGTERM);
	return 0;
}

void jp_survivor_end(void)
{
	pass_on(SIGTERM);
}

int jp_survivor_wait(void)
{
	int status;

	while (waitpid(acting, &status, 0) < 0)
		if (errno != EINTR)
			return -1;
	acting = 0;
	jp_children_end();
	return status;
}

int jp_survivor_status(const char *command, int waited)
{
	if (waited < 0)
		return JP_EXIT_BROKEN;
	if (WIFEXITED(waited))
		return WEXITSTATUS(waited);
	/* Of what it died of, so that the shell sees it. */
	jp_survivor_signals(SIG_DFL);
	if (WTERMSIG(waited) != SIGKILL)
		raise(WTERMSIG(waited));
	fprintf(stderr, "jitproof %s: killed by signal %d (%s)\n", command, WTERMSIG(waited),
		strsignal(WTERMSIG(waited)));
	return JP_EXIT_BROKEN;
}
