/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <sys/types.h>

#include "harness/base/error.h"

/* Runs a command in two processes. The acting process does the work. The surviving process passes
 * signals on to it, waits until it ends, then adopts and kills the processes that it left. If the
 * surviving process is killed, the acting process gets SIGTERM. A program has one such pair.
 * Children that the program had before its exec are left alone. */

/* Forks the acting process. Returns 0 in the acting process, which then watches signals
 * (interrupt.h), and its pid in the surviving process; or -errno and a message. *@channel: socket
 * for messages (delegate.h) between both. */
pid_t jp_survivor_fork(int *channel, struct jp_error *err);
/* Forks and returns as jp_survivor_fork() does, but no process other than the acting process will
 * be killed, and the acting process does not watch signals. */
pid_t jp_survivor_fork_alone(struct jp_error *err);
/* Waits for the acting process of jp_survivor_fork_alone(). Returns waitpid()'s status, or -1. */
int jp_survivor_wait_alone(void);
/* Sets the handler for SIGINT, SIGTERM and SIGHUP in the surviving process. */
void jp_survivor_signals(void (*handler)(int number));
/* Asks the acting process to end. */
void jp_survivor_end(void);
/* Waits for the acting process, then kills all processes that it left. Returns waitpid()'s status,
 * or -1. */
int jp_survivor_wait(void);
/* Returns the exit status for @waited, the result of jp_survivor_wait(). If a signal other than
 * SIGKILL killed the acting process, ends this process by the same signal. @command: its name in
 * messages. */
int jp_survivor_status(const char *command, int waited);
