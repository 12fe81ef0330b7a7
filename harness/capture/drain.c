// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "harness/capture/session.h"

enum {
	IDLE_MS = 50, /* a ring wakes us when it is half full; samples are counted sooner */
	ROUND_NS = 100000000,
};

/* Every event of a thread hangs up once the thread and all that inherited the event have ended. */
static bool all_ended(struct jp_session *session)
{
	struct pollfd *fds;
	nfds_t count = 0;
	bool ended = true;

	if (session->options.system_wide)
		return session->target_fd >= 0;
	fds = calloc(session->nr_opened ? session->nr_opened : 1, sizeof(*fds));
	if (!fds)
		return false;
	for (size_t i = 0; i < session->nr_opened; i++)
		if (session->opened[i].stream == JP_SIDEBAND &&
		    session->opened[i].cpu == session->cpus[0])
			fds[count++].fd = session->opened[i].fd;
	if (poll(fds, count, 0) < 0)
		ended = false;
	for (nfds_t i = 0; i < count; i++)
		ended &= (fds[i].revents & POLLHUP) != 0;
	free(fds);
	/* Nothing was there to open any more, or not yet. */
	return ended && (count || !session->hold_rounds);
}

static void end_round(struct jp_session *session, bool any)
{
	uint64_t now = jp_capture_now();

	session->pending |= any;
	if (!session->pending || session->hold_rounds ||
	    __atomic_load_n(&session->holds, __ATOMIC_ACQUIRE) ||
	    now - session->last_round < ROUND_NS)
		return;
	/*
	 * Readers sort by rounds: what is not in the round after an event's is newer than it. The
	 * kernel takes a record's time before it publishes the record; rounds of a tenth of a
	 * second keep the order right when a virtual CPU stands still in between.
	 */
	jp_perfdata_round(session->writer);
	session->last_round = now;
	session->pending = false;
}

static void *drain_thread(void *context)
{
	struct jp_session *session = context;
	bool any = true, stop = false;

	pthread_mutex_lock(&session->lock);
	session->drainer_tid = (pid_t)syscall(SYS_gettid);
	pthread_cond_broadcast(&session->changed);
	pthread_mutex_unlock(&session->lock);
	while (!stop || any) {
		struct epoll_event events[16];
		int count = stop ? 0 : epoll_wait(session->epoll, events, 16, IDLE_MS);
		uint64_t wanted, ignored;
		bool woken = false;

		pthread_mutex_lock(&session->lock);
		wanted = session->passes_wanted;
		stop = session->stopping;
		for (int i = 0; i < count; i++) {
			if (events[i].data.fd == session->wake)
				woken = read(session->wake, &ignored, sizeof(ignored)) > 0;
			if (session->target_fd >= 0 && events[i].data.fd == session->target_fd) {
				epoll_ctl(session->epoll, EPOLL_CTL_DEL, session->target_fd, NULL);
				session->gone = true;
			}
		}
		if (woken && __atomic_load_n(&session->interrupt, __ATOMIC_ACQUIRE))
			session->complete = true;
		/* Before draining: polling an event takes its ring's wake-up mark away. */
		if (session->gone && !session->exited)
			session->exited = all_ended(session);
		any = session->writer && jp_rings_drain(session);
		if (session->writer)
			end_round(session, any);
		if (session->writer && jp_perfdata_error(session->writer))
			session->complete = true;
		session->passes_done = wanted;
		pthread_cond_broadcast(&session->changed);
		pthread_mutex_unlock(&session->lock);
	}
	return NULL;
}

int jp_drain_start(struct jp_session *session, struct jp_error *err)
{
	struct epoll_event event = {.events = EPOLLIN};
	sigset_t all, old;
	int error;

	session->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	session->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (session->wake < 0 || session->epoll < 0)
		return jp_fail(err, errno, "eventfd or epoll: %s", strerror(errno));
	event.data.fd = session->wake;
	if (epoll_ctl(session->epoll, EPOLL_CTL_ADD, session->wake, &event))
		return jp_fail(err, errno, "epoll: %s", strerror(errno));
	/* Signals are for the threads of whoever called us. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	error = pthread_create(&session->drainer, NULL, drain_thread, session);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (error)
		return jp_fail(err, error, "cannot start a thread: %s", strerror(error));
	session->drainer_runs = true;
	pthread_mutex_lock(&session->lock);
	while (!session->drainer_tid)
		pthread_cond_wait(&session->changed, &session->lock);
	pthread_mutex_unlock(&session->lock);
	return 0;
}

void jp_drain_wake(struct jp_session *session)
{
	const uint64_t one = 1;
	ssize_t done;

	do {
		done = write(session->wake, &one, sizeof(one));
	} while (done < 0 && errno == EINTR);
}

void jp_drain_now(struct jp_session *session)
{
	uint64_t mine;

	pthread_mutex_lock(&session->lock);
	mine = ++session->passes_wanted;
	jp_drain_wake(session);
	while (session->passes_done < mine && session->drainer_runs)
		pthread_cond_wait(&session->changed, &session->lock);
	pthread_mutex_unlock(&session->lock);
}

void jp_drain_stop(struct jp_session *session)
{
	if (!session->drainer_runs)
		return;
	pthread_mutex_lock(&session->lock);
	session->stopping = true;
	pthread_mutex_unlock(&session->lock);
	jp_drain_wake(session);
	pthread_join(session->drainer, NULL);
	session->drainer_runs = false;
}

void jp_drain_watch(struct jp_session *session, pid_t pid)
{
	struct epoll_event event = {.events = EPOLLIN};
	int fd = (int)syscall(SYS_pidfd_open, pid, 0);

	pthread_mutex_lock(&session->lock);
	event.data.fd = fd;
	if (fd < 0 || epoll_ctl(session->epoll, EPOLL_CTL_ADD, fd, &event)) {
		/* Denied or unknown: hang-ups alone must tell, looked for at every pass. */
		if (fd >= 0)
			close(fd);
		session->gone = !session->options.system_wide;
	} else {
		session->target_fd = fd;
	}
	pthread_mutex_unlock(&session->lock);
}
