// SPDX-License-Identifier: GPL-2.0-only
/* What is left behind ends, and nothing that a /proc of other numbers tells of. */
#include "harness/base/children.h"

#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/base/foreign_proc.h"
#include "harness/selftest/support/check.h"

/* Who waits for a child for ever dies of the alarm. */
enum { SECONDS = 10 };

static pid_t sleeper(void)
{
	const pid_t pid = fork();

	if (!pid) {
		pause();
		_exit(0);
	}
	return pid;
}

static void own_proc(void)
{
	int ends[2];
	pid_t middle;
	char byte;

	check(!jp_foreign_proc(), "/proc is ours");
	jp_children_adopt();
	check(!pipe(ends), "a pipe");
	middle = fork();
	if (!middle) {
		sleeper();
		pause();
	}
	close(ends[1]);
	alarm(SECONDS);
	jp_children_end();
	check(kill(middle, 0) && errno == ESRCH, "a child is gone");
	check(!read(ends[0], &byte, 1), "and its child, which held the pipe");
	close(ends[0]);
}

/* In a pid namespace with the /proc of the outside. The status. */
static int inside(void)
{
	pid_t child;

	alarm(SECONDS);
	if (!jp_foreign_proc())
		return 1;
	child = sleeper();
	jp_children_end();
	return kill(child, 0) ? 2 : 0;
}

static void foreign_proc(void)
{
	pid_t first, way = fork();
	int status = -1;

	if (!way) {
		if (unshare(CLONE_NEWPID | (geteuid() ? CLONE_NEWUSER : 0)))
			_exit(4);
		first = fork();
		if (!first)
			_exit(inside());
		_exit(waitpid(first, &status, 0) == first && WIFEXITED(status) ? WEXITSTATUS(status)
									       : 3);
	}
	check(waitpid(way, &status, 0) == way && WIFEXITED(status), "a way into a namespace");
	if (WEXITSTATUS(status) == 4)
		check(true, "# SKIP no pid namespace");
	else
		check(!WEXITSTATUS(status), "/proc is the outside's, and nobody is ended by it: %d",
		      WEXITSTATUS(status));
}

int main(void)
{
	own_proc();
	foreign_proc();
	return check_done();
}
