// SPDX-License-Identifier: GPL-2.0-only
#include "harness/capture/drain.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "harness/base/clock.h"
#include "harness/capture/received.h"
#include "harness/capture/recorder.h"
#include "harness/capture/session.h"

enum {
	/* Longest sleep: samples must be counted before a ring is half full, when the kernel would
	 * wake this thread. */
	IDLE_MS = 10,
	ROUND_NS = 100000000, /* shortest time between FINISHED_ROUND records, see end_round() */
};

/* Returns whether poll() reports a hang-up for every event: its thread and all threads that
 * inherited the event have exited. */
static bool have_all_threads_exited(struct jp_session *session)
{
	const struct jp_opened_events *opened = &session->recorder->opened;
	struct pollfd *fds;
	nfds_t count = 0;
	bool has_ended = true;

	if (session->options.system_wide)
		return session->recorder->drain.target_fd >= 0;
	fds = calloc(opened->count ? opened->count : 1, sizeof(*fds));
	if (!fds)
		return false;
	for (size_t i = 0; i < opened->count; i++)
		if (opened->list[i].stream == JP_SIDEBAND &&
		    opened->list[i].cpu == session->cpus[0])
			fds[count++].fd = opened->list[i].fd;
	if (poll(fds, count, 0) < 0)
		has_ended = false;
	for (nfds_t i = 0; i < count; i++)
		has_ended &= (fds[i].revents & POLLHUP) != 0;
	free(fds);
	/* While hold_rounds is set, the capture may still open events. So a session without events
	 * counts as ended only afterwards. */
	return has_ended && (count || !session->recorder->drain.hold_rounds);
}

/* Writes a FINISHED_ROUND record if it is time. @has_written: records were written now.
 * @is_settled: all records that existed at the last FINISHED_ROUND are drained. */
static void end_round(struct jp_recorder *recorder, bool has_written, bool is_settled)
{
	struct jp_drain *drain = &recorder->drain;
	uint64_t now = jp_clock_now();

	drain->pending |= has_written;
	if (!drain->pending || !is_settled || drain->hold_rounds ||
	    __atomic_load_n(&drain->holds, __ATOMIC_ACQUIRE) || now - drain->last_round < ROUND_NS)
		return;
	/* Readers sort by rounds: an event may come at most one round late. The kernel reads a
	 * record's time before it publishes the record, and a virtual CPU may stop in between. So a
	 * round lasts a tenth of a second, and a grace period if the kernel has membarrier(). */
	jp_perfdata_round(recorder->writer);
	jp_grace_ask(&drain->grace);
	drain->last_round = now;
	drain->pending = false;
}

/* Drains all rings once. The session must be locked. Returns whether there were any records. */
static bool drain_rings(struct jp_session *session)
{
	struct jp_recorder *recorder = session->recorder;
	bool has_written, is_settled;

	/* Do this before draining, because polling an event clears its ring's wake-up mark. */
	if (recorder->drain.exited && !session->exited)
		session->exited = have_all_threads_exited(session);
	if (!recorder->writer)
		return false;
	is_settled = jp_grace_has_passed(&recorder->drain.grace);
	has_written = jp_received_drain(session);
	end_round(recorder, has_written, is_settled);
	if (jp_perfdata_error(recorder->writer))
		session->complete = true;
	return has_written;
}

static void handle_wakeups(struct jp_session *session, const struct epoll_event *events, int count)
{
	struct jp_drain *drain = &session->recorder->drain;
	bool is_woken = false;
	uint64_t ignored;

	for (int i = 0; i < count; i++) {
		if (events[i].data.fd == drain->wake)
			is_woken = read(drain->wake, &ignored, sizeof(ignored)) > 0;
		if (drain->target_fd >= 0 && events[i].data.fd == drain->target_fd) {
			epoll_ctl(drain->epoll, EPOLL_CTL_DEL, drain->target_fd, NULL);
			drain->exited = true;
		}
	}
	if (is_woken && __atomic_load_n(&drain->interrupted, __ATOMIC_ACQUIRE))
		session->complete = true;
}

static void *drain_thread(void *context)
{
	struct jp_session *session = context;
	struct jp_drain *drain = &session->recorder->drain;
	bool has_written = true, stop = false;

	pthread_mutex_lock(&session->lock);
	drain->tid = (pid_t)syscall(SYS_gettid);
	/* With the priority of the watched threads, this thread would get too little time when
	 * these outnumber the CPUs, and rings would overflow. If the priority is refused, more
	 * records may be lost. */
	(void)setpriority(PRIO_PROCESS, (id_t)drain->tid, JP_HIGHEST_PRIORITY);
	pthread_cond_broadcast(&session->changed);
	pthread_mutex_unlock(&session->lock);
	while (!stop || has_written) {
		struct epoll_event events[16];
		int count = stop ? 0 : epoll_wait(drain->epoll, events, 16, IDLE_MS);
		uint64_t nr_wanted;

		pthread_mutex_lock(&session->lock);
		nr_wanted = drain->passes_wanted;
		stop = drain->stopping;
		handle_wakeups(session, events, count);
		has_written = drain_rings(session);
		drain->passes_done = nr_wanted;
		pthread_cond_broadcast(&session->changed);
		pthread_mutex_unlock(&session->lock);
	}
	return NULL;
}

int jp_drain_start(struct jp_session *session, struct jp_error *err)
{
	struct jp_drain *drain = &session->recorder->drain;
	struct epoll_event event = {.events = EPOLLIN};
	int ret;

	drain->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	drain->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (drain->wake < 0 || drain->epoll < 0)
		return jp_fail(err, errno, "eventfd or epoll: %s", strerror(errno));
	event.data.fd = drain->wake;
	if (epoll_ctl(drain->epoll, EPOLL_CTL_ADD, drain->wake, &event))
		return jp_fail(err, errno, "epoll: %s", strerror(errno));
	ret = jp_grace_start(&drain->grace, err)
		      ?: jp_thread_start(&drain->thread, drain_thread, session, err);
	if (ret)
		return ret;
	drain->runs = true;
	pthread_mutex_lock(&session->lock);
	while (!drain->tid)
		pthread_cond_wait(&session->changed, &session->lock);
	pthread_mutex_unlock(&session->lock);
	return 0;
}

static void wake_thread(const struct jp_drain *drain)
{
	while (eventfd_write(drain->wake, 1) < 0 && errno == EINTR)
		;
}

void jp_drain_interrupt(struct jp_recorder *recorder)
{
	__atomic_store_n(&recorder->drain.interrupted, 1, __ATOMIC_RELEASE);
	wake_thread(&recorder->drain);
}

void jp_drain_now(struct jp_session *session)
{
	struct jp_drain *drain = &session->recorder->drain;
	uint64_t own_pass;

	pthread_mutex_lock(&session->lock);
	own_pass = ++drain->passes_wanted;
	wake_thread(drain);
	while (drain->passes_done < own_pass && drain->runs)
		pthread_cond_wait(&session->changed, &session->lock);
	pthread_mutex_unlock(&session->lock);
}

void jp_drain_stop(struct jp_session *session)
{
	struct jp_drain *drain = &session->recorder->drain;

	if (!drain->runs)
		return;
	pthread_mutex_lock(&session->lock);
	drain->stopping = true;
	pthread_mutex_unlock(&session->lock);
	wake_thread(drain);
	pthread_join(drain->thread, NULL);
	drain->runs = false;
}

void jp_drain_close(struct jp_drain *drain)
{
	const int fds[] = {drain->wake, drain->epoll, drain->target_fd};

	jp_grace_stop(&drain->grace);
	for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++)
		if (fds[i] >= 0)
			close(fds[i]);
}

void jp_drain_watch(struct jp_session *session, pid_t pid)
{
	struct jp_drain *drain = &session->recorder->drain;
	struct epoll_event event = {.events = EPOLLIN};
	int fd = (int)syscall(SYS_pidfd_open, pid, 0);

	pthread_mutex_lock(&session->lock);
	event.data.fd = fd;
	if (fd < 0 || epoll_ctl(drain->epoll, EPOLL_CTL_ADD, fd, &event)) {
		/* If pidfd_open() is denied or does not exist, only hang-ups of events show that
		 * the target has ended: check them in every pass. */
		if (fd >= 0)
			close(fd);
		drain->exited = !session->options.system_wide;
	} else {
		drain->target_fd = fd;
	}
	pthread_mutex_unlock(&session->lock);
}

void jp_drain_hold(struct jp_session *session, int change)
{
	if (session->recorder)
		__atomic_fetch_add(&session->recorder->drain.holds, change, __ATOMIC_SEQ_CST);
}
