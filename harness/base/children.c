// SPDX-License-Identifier: GPL-2.0-only
#include "harness/base/children.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/base/cleanup.h"
#include "harness/base/foreign_proc.h"
#include "harness/base/number.h"
#include "harness/base/proc_stat.h"

void jp_children_adopt_orphans(void)
{
	prctl(PR_SET_CHILD_SUBREAPER, 1);
}

/* Kills all children that /proc shows. Returns false if it shows none. */
static bool kill_all(void)
{
	jp_cleanup_closedir DIR *proc = jp_is_proc_of_other_namespace() ? NULL : opendir("/proc");
	struct dirent *entry;
	bool has_children = false;

	while (proc && (entry = readdir(proc))) {
		struct jp_proc_stat stat;
		char path[64];
		uint64_t pid;

		if (!jp_number(entry->d_name, 1, INT32_MAX, &pid))
			continue;
		snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
		if (jp_proc_stat_read(path, &stat) && stat.parent == getpid())
			has_children |= !kill((pid_t)pid, SIGKILL);
	}
	return has_children;
}

void jp_children_kill_all(void)
{
	/* Each pass kills one generation of descendants or more. */
	for (;;) {
		pid_t pid = waitpid(-1, NULL, WNOHANG);

		if (pid < 0 && errno == ECHILD)
			break;
		if (pid == 0 && !kill_all())
			break;
		if (pid == 0)
			waitpid(-1, NULL, 0);
	}
}
