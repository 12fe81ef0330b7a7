// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "harness/capture/session.h"

enum { FORMAT_LOST = 1 << 4 };

static int remember(struct jp_session *session, const struct jp_opened *event)
{
	struct jp_event_owner *entry;
	bool added;
	int ret = -ENOMEM;

	pthread_mutex_lock(&session->lock);
	if (session->nr_opened == session->opened_capacity) {
		size_t capacity = session->opened_capacity ? session->opened_capacity * 2 : 64;
		struct jp_opened *opened = realloc(session->opened, capacity * sizeof(*opened));

		if (!opened)
			goto out;
		session->opened = opened;
		session->opened_capacity = capacity;
	}
	entry = jp_event_owner_add(&session->ids, event->id, &added);
	if (!entry)
		goto out;
	entry->owner = event->tid;
	ret = jp_perfdata_id(session->writer, event->stream, event->id);
	if (!ret) {
		session->opened[session->nr_opened++] = *event;
		session->some_id[event->stream] = event->id;
	}
out:
	pthread_mutex_unlock(&session->lock);
	return ret;
}

int jp_open_event(struct jp_session *session, struct perf_event_attr *attr, enum jp_stream stream,
		  pid_t tid, unsigned int cpu_index, struct jp_error *err)
{
	struct jp_ring *ring = &session->rings[stream * session->nr_cpus + cpu_index];
	struct jp_opened event = {.tid = tid, .cpu = ring->cpu, .stream = stream};
	char reason[128];
	int ret;

	event.fd = jp_perf_open(attr, tid, ring->cpu);
	if (event.fd == -ESRCH)
		return -ESRCH;
	if (event.fd < 0) {
		jp_perf_reason(-event.fd, reason, sizeof(reason));
		return jp_fail(err, -event.fd, "perf_event_open (%s) of thread %d on CPU %d: %s%s",
			       stream == JP_SIDEBAND ? "sideband" : "sampling", tid, ring->cpu,
			       reason,
			       event.fd == -EMFILE ? "; each thread takes two descriptors a CPU "
						     "(ulimit -n)"
						   : "");
	}
	if (ioctl(event.fd, PERF_EVENT_IOC_SET_OUTPUT, ring->fd) ||
	    ioctl(event.fd, PERF_EVENT_IOC_ID, &event.id)) {
		ret = jp_fail(err, errno, "event of thread %d: its ring or id: %s", tid,
			      strerror(errno));
	} else {
		ret = remember(session, &event);
		if (ret)
			jp_fail(err, -ret, "no memory for the events");
	}
	if (ret)
		close(event.fd);
	return ret;
}

int jp_open_thread(struct jp_session *session, enum jp_stream stream, pid_t tid,
		   struct jp_error *err)
{
	size_t from = session->nr_opened;
	int ret;

	for (unsigned int i = 0; i < session->nr_cpus; i++) {
		ret = jp_open_event(session, &session->attr[stream], stream, tid, i, err);
		if (ret) {
			jp_open_close(session, from);
			return ret;
		}
	}
	return 0;
}

/*
 * From when on a thread speaks for itself: samples before its first event is enabled, so that none
 * is told twice; sideband after its last, so that none is dropped that only an ancestor told.
 */
static int owns(struct jp_session *session, enum jp_stream stream, const struct jp_opened *event)
{
	bool first = event->cpu == session->cpus[0];
	bool last = event->cpu == session->cpus[session->nr_cpus - 1];
	int ret = 0;

	if (event->tid < 0)
		return 0;
	pthread_mutex_lock(&session->lock);
	if (!event->enabled && first)
		ret = jp_event_owner_direct(&session->event_owners[stream], event->tid,
					    stream == JP_SIDEBAND ? UINT64_MAX : jp_capture_now());
	else if (event->enabled && last && stream == JP_SIDEBAND)
		ret = jp_event_owner_direct(&session->event_owners[stream], event->tid,
					    jp_capture_now());
	pthread_mutex_unlock(&session->lock);
	return ret;
}

int jp_open_enable(struct jp_session *session, enum jp_stream stream, struct jp_error *err)
{
	/* Only the thread that runs a policy adds events, so reading them needs no lock. */
	for (size_t i = 0; i < session->nr_opened; i++) {
		struct jp_opened *event = &session->opened[i];
		int ret;

		if (event->stream != stream || event->enabled)
			continue;
		ret = owns(session, stream, event);
		if (!ret && ioctl(event->fd, PERF_EVENT_IOC_ENABLE, 0))
			return jp_fail(err, errno, "an event of thread %d cannot be enabled: %s",
				       event->tid, strerror(errno));
		event->enabled = true;
		if (!ret)
			ret = owns(session, stream, event);
		if (ret)
			return jp_fail(err, -ret, "no memory for thread %d", event->tid);
	}
	return 0;
}

void jp_open_disable(struct jp_session *session, enum jp_stream stream)
{
	for (size_t i = 0; i < session->nr_opened; i++)
		if (session->opened[i].stream == stream)
			ioctl(session->opened[i].fd, PERF_EVENT_IOC_DISABLE, 0);
}

int jp_open_switch(struct jp_session *session, enum jp_stream stream, bool on, struct jp_error *err)
{
	unsigned long request = on ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE;

	for (size_t i = 0; i < session->nr_opened; i++)
		if (session->opened[i].stream == stream && ioctl(session->opened[i].fd, request, 0))
			return jp_fail(err, errno, "an event of thread %d cannot be %s: %s",
				       session->opened[i].tid, on ? "enabled" : "disabled",
				       strerror(errno));
	return 0;
}

static void count_lost(struct jp_session *session, const struct jp_opened *event)
{
	struct {
		uint64_t value, id, lost;
	} counts;

	if (!(session->attr[event->stream].read_format & FORMAT_LOST))
		return;
	if (read(event->fd, &counts, sizeof(counts)) == (ssize_t)sizeof(counts))
		session->lost_counted[event->stream] += counts.lost;
}

void jp_open_close(struct jp_session *session, size_t from)
{
	pthread_mutex_lock(&session->lock);
	for (size_t i = from; i < session->nr_opened; i++) {
		count_lost(session, &session->opened[i]);
		close(session->opened[i].fd);
	}
	session->nr_opened = from;
	pthread_mutex_unlock(&session->lock);
}
