/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <sys/types.h>

#include "harness/base/error.h"

struct jp_drain;
struct jp_recorder;
struct jp_session;

/* Starts the thread that reads the session's rings into its file. Returns 0, or -errno and a
 * message. */
int jp_drain_start(struct jp_session *session, struct jp_error *err);
/* Waits until the thread has read all rings once in a pass that began after this call. */
void jp_drain_now(struct jp_session *session);
/* Ends the thread after the rings are empty. */
void jp_drain_stop(struct jp_session *session);
/* Marks the session as complete, which wakes jp_session_wait(). A signal handler may call it. */
void jp_drain_interrupt(struct jp_recorder *recorder);
/* Makes the thread watch @pid: when it and all threads that inherited its events have exited, marks
 * the session as exited and wakes its waiters. */
void jp_drain_watch(struct jp_session *session, pid_t pid);
/* Prevents the thread from writing FINISHED_ROUND records, from a call with @change 1 to a call
 * with @change -1. */
void jp_drain_hold(struct jp_session *session, int change);
/* Closes the descriptors of @drain. Call this after jp_drain_stop(). */
void jp_drain_close(struct jp_drain *drain);
