/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "harness/base/error.h"

struct jp_drain;
struct jp_recorder;
struct jp_session;

/* The one thread that reads rings. */
int jp_drain_start(struct jp_session *session, struct jp_error *err);
/* Returns once a whole pass began and ended after the call. */
void jp_drain_now(struct jp_session *session);
/* Drains until the rings are empty and ends the thread. */
void jp_drain_stop(struct jp_session *session);
/* Completes the session; may be called by a signal handler. */
void jp_drain_interrupt(struct jp_recorder *recorder);
/* Also wakes, and marks the session exited, when @pid ends. */
void jp_drain_watch(struct jp_session *session, pid_t pid);
/* No round ends from a call with 1 to one with -1. */
void jp_drain_hold(struct jp_session *session, int change);
/* Its descriptors; after jp_drain_stop(). */
void jp_drain_close(struct jp_drain *drain);
