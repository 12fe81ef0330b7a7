// SPDX-License-Identifier: GPL-2.0-only
#include "harness/capture/session.h"

#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>

int jp_session_reach_boundary(struct jp_session *session, const char *boundary,
			      struct jp_error *err)
{
	struct jp_target *target = session->target;

	return target->boundary ? target->boundary(target->context, boundary, err) : 0;
}

int jp_thread_start(pthread_t *thread, void *(*run)(void *), void *context, struct jp_error *err)
{
	sigset_t all_signals, old_signals;
	int error;

	sigfillset(&all_signals);
	pthread_sigmask(SIG_SETMASK, &all_signals, &old_signals);
	error = pthread_create(thread, NULL, run, context);
	pthread_sigmask(SIG_SETMASK, &old_signals, NULL);
	return error ? jp_fail(err, error, "cannot start a thread: %s", strerror(error)) : 0;
}

int jp_worker_start(struct jp_session *session, void *(*run)(void *), void *context,
		    struct jp_error *err)
{
	int ret = jp_thread_start(&session->worker.thread, run, context, err);

	session->worker.runs = !ret;
	return ret;
}

void jp_worker_done(struct jp_session *session, int error)
{
	pthread_mutex_lock(&session->lock);
	session->worker.error = error;
	session->complete |= !session->exited;
	pthread_cond_broadcast(&session->changed);
	pthread_mutex_unlock(&session->lock);
}

void jp_worker_end(struct jp_session *session)
{
	struct jp_worker *worker = &session->worker;

	if (!worker->runs)
		return;
	pthread_mutex_lock(&session->lock);
	worker->ending = true;
	pthread_cond_broadcast(&session->changed);
	pthread_mutex_unlock(&session->lock);
	if (worker->wake >= 0)
		eventfd_write(worker->wake, 1);
	pthread_join(worker->thread, NULL);
	worker->runs = false;
}
