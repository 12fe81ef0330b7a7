// SPDX-License-Identifier: GPL-2.0-only
#include "harness/base/foreign_proc.h"

#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/statfs.h>
#include <unistd.h>

bool jp_is_proc_of_other_namespace(void)
{
	char shown_pid[16] = "", own_pid[16];
	struct statfs system;

	if (statfs("/proc", &system) || system.f_type != PROC_SUPER_MAGIC)
		return false;
	snprintf(own_pid, sizeof(own_pid), "%d", getpid());
	/* If /proc does not show this process, the link cannot be read. */
	return readlink("/proc/self", shown_pid, sizeof(shown_pid) - 1) < 0 ||
	       strcmp(shown_pid, own_pid) != 0;
}
