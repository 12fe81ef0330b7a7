/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <pthread.h>

#include "harness/base/error.h"

/* The lowest nice value (setpriority(2)), which is the highest priority. */
enum { JP_HIGHEST_PRIORITY = -20 };

struct jp_session;

/* Starts @run(@context) in the thread *@thread with all signals blocked. The caller joins the
 * thread. Returns 0, or -errno and a message. */
int jp_thread_start(pthread_t *thread, void *(*run)(void *), void *context, struct jp_error *err);
int jp_worker_start(struct jp_session *session, void *(*run)(void *), void *context,
		    struct jp_error *err);
/* Records that the worker ended with @error (-errno; 0: none), and wakes threads that wait for
 * samples. The worker calls it last. */
void jp_worker_done(struct jp_session *session, int error);
/* Asks the worker to end, and joins it. */
void jp_worker_end(struct jp_session *session);
