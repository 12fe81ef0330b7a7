/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "harness/base/error.h"

struct jp_drain;
struct jp_recorder;
struct jp_session;

/* Starts the thread that reads the rings. Returns 0, or -errno and a message. */
int jp_drain_start(struct jp_session *session, struct jp_error *err);
/* Waits until a whole pass began and ended after this call. */
void jp_drain_now(struct jp_session *session);
/* Drains until the rings are empty, and ends the thread. */
void jp_drain_stop(struct jp_session *session);
/* Completes the session; a signal handler may call it. */
void jp_drain_interrupt(struct jp_recorder *recorder);
/* Marks the session as exited when @pid ends, and wakes its waiters. */
void jp_drain_watch(struct jp_session *session, pid_t pid);
/* Prevents rounds from ending, from a call with 1 to a call with -1. */
void jp_drain_hold(struct jp_session *session, int change);
/* Closes its descriptors; after jp_drain_stop(). */
void jp_drain_close(struct jp_drain *drain);
