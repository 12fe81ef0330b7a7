// SPDX-License-Identifier: GPL-2.0-only
/* Tests that all descendants are ended, but no process found in a /proc of another pid
 * namespace. */
#include "harness/base/children.h"

#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/base/foreign_proc.h"
#include "harness/selftest/support/check.h"

/* SIGALRM kills a test that waits forever. */
enum { SECONDS = 10 };

static pid_t fork_sleeper(void)
{
	const pid_t pid = fork();

	if (!pid) {
		pause();
		_exit(0);
	}
	return pid;
}

TEST(own_proc)
{
	int ends[2];
	pid_t middle;
	char byte;

	check(!jp_is_proc_of_other_namespace(), "/proc shows this pid namespace");
	jp_children_adopt_orphans();
	check(!pipe(ends), "a pipe is made");
	middle = fork();
	if (!middle) {
		fork_sleeper();
		pause();
	}
	close(ends[1]);
	alarm(SECONDS);
	jp_children_kill_all();
	check(kill(middle, 0) && errno == ESRCH, "the child has ended");
	check(!read(ends[0], &byte, 1), "the child's child, which held the pipe, has ended");
	close(ends[0]);
}

/* Runs in a new pid namespace that still sees the outer /proc. Returns the exit status: 0 if the
 * test passed. */
static int end_children_in_namespace(void)
{
	pid_t child;

	alarm(SECONDS);
	if (!jp_is_proc_of_other_namespace())
		return 1;
	child = fork_sleeper();
	jp_children_kill_all();
	return kill(child, 0) ? 2 : 0;
}

TEST(foreign_proc)
{
	pid_t first, way = fork();
	int status = -1;

	if (!way) {
		if (unshare(CLONE_NEWPID | (geteuid() ? CLONE_NEWUSER : 0)))
			_exit(4);
		first = fork();
		if (!first)
			_exit(end_children_in_namespace());
		_exit(waitpid(first, &status, 0) == first && WIFEXITED(status) ? WEXITSTATUS(status)
									       : 3);
	}
	check(waitpid(way, &status, 0) == way && WIFEXITED(status), "a child has a new namespace");
	if (WEXITSTATUS(status) == 4)
		check(true, "a foreign /proc ends nobody # SKIP no pid namespace");
	else
		check(!WEXITSTATUS(status), "with the outer /proc no process is ended: status %d",
		      WEXITSTATUS(status));
}
