/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <sys/types.h>

#include "harness/base/error.h"

/*
 * A command in two processes. One acts. The other outlives it, however it ends, adopts and ends
 * what that leaves behind, and passes signals on to it. Should it be killed outright itself, the
 * one that acts gets SIGTERM. One pair in a program. Children from before exec are left alone.
 */

/* As fork(): 0 in the one that acts, which watches signals from now on (interrupt.h); in the other
 * the pid of that; -errno and a message. Messages (message.h) go to and fro by @channel. */
pid_t jp_survivor_fork(int *channel, struct jp_error *err);
/* In the one that survives: what to do about SIGINT, SIGTERM and SIGHUP from now on. */
void jp_survivor_signals(void (*handler)(int number));
/* Asks the one that acts to end. */
void jp_survivor_end(void);
/* Waits for it, then ends all that is left: what waitpid() said, or -1. */
int jp_survivor_wait(void);
/* Of that, the status to end with; where it died of a signal that was passed on, so do we. */
int jp_survivor_status(const char *command, int waited);
