// SPDX-License-Identifier: GPL-2.0-only
/* Tests that a process's state, parent and start are read, even behind a name that imitates them.
 */
#include "harness/base/proc_stat.h"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/base/clock.h"
#include "harness/selftest/support/check.h"

TEST(child)
{
	const uint64_t tick = JP_NS_PER_S / (uint64_t)sysconf(_SC_CLK_TCK);
	const uint64_t before = jp_clock_ns(CLOCK_BOOTTIME);
	const pid_t parent = getpid(), child = fork();
	struct jp_proc_stat stat = {0};
	int status = -1;

	if (!child) {
		prctl(PR_SET_NAME, "x) Z 1 2 3 (y");
		_exit(!jp_proc_stat_read("/proc/self/stat", &stat) || stat.state != 'R' ||
		      stat.parent != parent || stat.started + tick < before ||
		      stat.started > jp_clock_ns(CLOCK_BOOTTIME));
	}
	check(waitpid(child, &status, 0) == child && !status, "the child reads its own status");
}

TEST(other_processes)
{
	struct jp_proc_stat stat;

	check(!jp_proc_stat_read("/proc/self/task/0/stat", &stat), "a task that does not exist");
	check(!jp_proc_stat_read("/proc/self/comm", &stat), "a file of another form");
}
