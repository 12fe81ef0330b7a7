// SPDX-License-Identifier: GPL-2.0-only
#include "harness/base/children.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/base/cleanup.h"
#include "harness/base/file.h"
#include "harness/base/foreign_proc.h"
#include "harness/base/number.h"

void jp_children_adopt(void)
{
	prctl(PR_SET_CHILD_SUBREAPER, 1);
}

/* Kills and reaps all children. Returns false if /proc shows none. */
static bool kill_all(void)
{
	jp_cleanup_closedir DIR *proc = jp_foreign_proc() ? NULL : opendir("/proc");
	struct dirent *entry;
	bool any = false;

	while (proc && (entry = readdir(proc))) {
		char path[64], text[512], *close_name;
		uint64_t pid;
		int parent;

		if (!jp_number(entry->d_name, 1, INT32_MAX, &pid))
			continue;
		snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
		/* "pid (name) state ppid": the name may contain anything, even ")". */
		if (jp_file_text(path, text, sizeof(text)) > 0 &&
		    (close_name = strrchr(text, ')')) &&
		    sscanf(close_name + 1, " %*c %d", &parent) == 1 && parent == getpid())
			any |= !kill((pid_t)pid, SIGKILL);
	}
	return any;
}

void jp_children_end(void)
{
	/* Each round ends at least one generation. */
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
