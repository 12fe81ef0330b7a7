// SPDX-License-Identifier: GPL-2.0-only
#include "harness/base/proc_stat.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "harness/base/clock.h"
#include "harness/base/file.h"

bool jp_proc_stat_read(const char *path, struct jp_proc_stat *stat)
{
	const uint64_t tick = JP_NS_PER_S / (uint64_t)sysconf(_SC_CLK_TCK);
	const char *name_end;
	char text[1024];
	uint64_t ticks;

	/* "pid (name) state parent ...": the name may contain anything, even ")". */
	if (jp_file_read_text(path, text, sizeof(text)) <= 0 || !(name_end = strrchr(text, ')')) ||
	    sscanf(name_end,
		   ") %c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d "
		   "%" SCNu64,
		   &stat->state, &stat->parent, &ticks) != 3)
		return false;
	stat->started = ticks * tick;
	return true;
}
