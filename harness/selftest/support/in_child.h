/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <sys/wait.h>
#include <unistd.h>

/* Runs @run(@argument), which must not return, in a child. Returns its wait status, or -1. */
static inline int run_in_child(void (*run)(bool argument), bool argument)
{
	const pid_t pid = fork();
	int status = -1;

	if (!pid)
		run(argument);
	return pid > 0 && waitpid(pid, &status, 0) == pid ? status : -1;
}
