// SPDX-License-Identifier: GPL-2.0-only
#include "workloads/emit/noexec.h"

#include <stdio.h>
#include <sys/statvfs.h>

#include "workloads/emit/workload.h"

bool jp_noexec_skip_workload(const char *path)
{
	struct statvfs mount;
	char reason[400];

	if (statvfs(path, &mount) || !(mount.f_flag & ST_NOEXEC))
		return false;
	snprintf(reason, sizeof(reason),
		 "executable files in %.200s, which is mounted noexec: run with TMPDIR or -o "
		 "elsewhere",
		 path);
	jp_handshake_skip(reason);
	return true;
}
