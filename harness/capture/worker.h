/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <pthread.h>

#include "harness/base/error.h"

struct jp_session;

/* Starts @work(@context) with all signals blocked: they are for the caller's threads. The caller
 * joins it. */
int jp_thread_start(pthread_t *thread, void *(*work)(void *), void *context, struct jp_error *err);
int jp_worker_start(struct jp_session *session, void *(*work)(void *), void *context,
		    struct jp_error *err);
/* The worker's last act: a wait for samples learns that no more will come. */
void jp_worker_done(struct jp_session *session, int error);
void jp_worker_end(struct jp_session *session);
