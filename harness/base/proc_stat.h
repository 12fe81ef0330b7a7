/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* A part of /proc/PID/stat or /proc/PID/task/TID/stat (proc_pid_stat(5)). */
struct jp_proc_stat {
	char state;
	pid_t parent;
	uint64_t started; /* CLOCK_BOOTTIME in ns, rounded down to a clock tick */
};

/* Reads the file @path. Returns false if the task is gone or the file does not have the form of
 * proc_pid_stat(5). */
bool jp_proc_stat_read(const char *path, struct jp_proc_stat *stat);
