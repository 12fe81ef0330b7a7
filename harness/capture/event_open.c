// SPDX-License-Identifier: GPL-2.0-only
#include "harness/capture/event_open.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "harness/base/array.h"
#include "harness/base/clock.h"
#include "harness/base/shortage.h"
#include "harness/capture/event_owners.h"
#include "harness/capture/recorder.h"
#include "harness/capture/session.h"

static int remember_event(struct jp_session *session, const struct jp_opened *event)
{
	struct jp_recorder *recorder = session->recorder;
	struct jp_opened_events *opened = &recorder->opened;
	struct jp_opened_for *opened_for;
	int ret = -ENOMEM;

	pthread_mutex_lock(&session->lock);
	opened_for = jp_map_at(&recorder->received.ids, event->id, sizeof(*opened_for));
	if (opened_for && jp_array_reserve(&opened->list, &opened->capacity, opened->count + 1)) {
		opened_for->tid = event->tid;
		opened->list[opened->count++] = *event;
		ret = 0;
	}
	pthread_mutex_unlock(&session->lock);
	return ret;
}

/* Writes the ids of the events from index @first_index on to the file. Called when a thread's
 * events exist on all CPUs: if the thread ended before that, its events have no records and are
 * closed. */
static int write_ids(struct jp_session *session, size_t first_index, struct jp_error *err)
{
	struct jp_recorder *recorder = session->recorder;
	struct jp_opened_events *opened = &recorder->opened;
	int ret = 0;

	pthread_mutex_lock(&session->lock);
	for (size_t i = first_index; i < opened->count && !ret; i++) {
		const struct jp_opened *event = &opened->list[i];

		ret = jp_perfdata_assign_id(recorder->writer, event->stream, event->id);
		opened->some_id[event->stream] = event->id;
	}
	pthread_mutex_unlock(&session->lock);
	return ret ? jp_fail(err, -ret, "out of memory for the ids of events") : 0;
}

/* Returns a text with the remedy if the result @fd of perf_event_open() is an error with a known
 * one, else "". */
static const char *find_remedy(int fd, const struct perf_event_attr *attr)
{
	if (fd == -EMFILE)
		return "; each thread takes two descriptors a CPU (ulimit -n)";
	if (fd == -EINVAL && attr->freq &&
	    (uint64_t)jp_sysctl_read("perf_event_max_sample_rate", INT_MAX) < attr->sample_freq)
		return "; the kernel lowered kernel.perf_event_max_sample_rate meanwhile: run the "
		       "case again";
	return "";
}

static int open_event(struct jp_session *session, struct perf_event_attr *attr,
		      enum jp_stream stream, pid_t tid, unsigned int cpu_index,
		      struct jp_error *err)
{
	struct jp_ring *ring = &session->recorder->rings[stream * session->nr_cpus + cpu_index];
	struct jp_opened event = {.tid = tid, .cpu = ring->cpu, .stream = stream};
	char reason[128];
	int ret;

	event.fd = jp_perf_open(attr, tid, ring->cpu);
	if (event.fd == -ESRCH)
		return -ESRCH;
	if (event.fd < 0) {
		jp_perf_explain_error(-event.fd, reason, sizeof(reason));
		return jp_fail(err, -event.fd, "perf_event_open (%s) of thread %d on CPU %d: %s%s",
			       stream == JP_SIDEBAND ? "sideband" : "sampling", tid, ring->cpu,
			       reason, find_remedy(event.fd, attr));
	}
	if (ioctl(event.fd, PERF_EVENT_IOC_SET_OUTPUT, ring->fd) ||
	    ioctl(event.fd, PERF_EVENT_IOC_ID, &event.id)) {
		ret = jp_fail(err, errno, "event of thread %d: its ring or id: %s", tid,
			      strerror(errno));
	} else {
		ret = remember_event(session, &event);
		if (ret)
			jp_fail(err, -ret, "out of memory for the events");
	}
	if (ret)
		close(event.fd);
	return ret;
}

int jp_open_event(struct jp_session *session, struct perf_event_attr *attr, enum jp_stream stream,
		  pid_t tid, unsigned int cpu_index, struct jp_error *err)
{
	size_t first_index = session->recorder->opened.count;
	int ret = open_event(session, attr, stream, tid, cpu_index, err)
			  ?: write_ids(session, first_index, err);

	if (ret)
		jp_open_close(session, first_index);
	return ret;
}

/* Opens the event of @stream for @tid (-1: all threads) on every CPU. */
static int open_on_cpus(struct jp_session *session, enum jp_stream stream, pid_t tid,
			struct jp_error *err)
{
	int ret = 0;

	for (unsigned int i = 0; i < session->nr_cpus && !ret; i++)
		ret = open_event(session, &session->recorder->attr[stream], stream, tid, i, err);
	return ret;
}

int jp_open_watched(struct jp_session *session, bool sample, pid_t tid, struct jp_error *err)
{
	size_t first_index = session->recorder->opened.count;
	int ret = open_on_cpus(session, JP_SIDEBAND, tid, err)
			  ?: (sample ? open_on_cpus(session, JP_SAMPLING, tid, err) : 0)
			  ?: write_ids(session, first_index, err);

	if (ret)
		jp_open_close(session, first_index);
	return ret;
}

/* Notes the time from which records of a thread's own events replace those of events that it
 * inherited. For samples this is before its first event is enabled, so that no sample is kept
 * twice. For sideband it is after its last event is enabled, so that no record is dropped that only
 * an inherited event wrote. */
static int note_owner(struct jp_session *session, enum jp_stream stream,
		      const struct jp_opened *event)
{
	bool is_first = event->cpu == session->cpus[0];
	bool is_last = event->cpu == session->cpus[session->nr_cpus - 1];
	int ret = 0;

	if (event->tid < 0)
		return 0;
	pthread_mutex_lock(&session->lock);
	if (!event->enabled && is_first)
		ret = jp_event_owner_add_direct(
			&session->recorder->received.owners[stream], event->tid,
			stream == JP_SIDEBAND ? UINT64_MAX : jp_clock_now());
	else if (event->enabled && is_last && stream == JP_SIDEBAND)
		ret = jp_event_owner_add_direct(&session->recorder->received.owners[stream],
						event->tid, jp_clock_now());
	pthread_mutex_unlock(&session->lock);
	return ret;
}

int jp_open_enable(struct jp_session *session, enum jp_stream stream, struct jp_error *err)
{
	struct jp_opened_events *opened = &session->recorder->opened;

	for (size_t i = 0; i < opened->count; i++) {
		struct jp_opened *event = &opened->list[i];
		int ret;

		if (event->stream != stream || event->enabled)
			continue;
		ret = note_owner(session, stream, event);
		if (!ret && ioctl(event->fd, PERF_EVENT_IOC_ENABLE, 0))
			return jp_fail(err, errno, "an event of thread %d cannot be enabled: %s",
				       event->tid, strerror(errno));
		event->enabled = true;
		if (!ret)
			ret = note_owner(session, stream, event);
		if (ret)
			return jp_fail(err, -ret, "out of memory for thread %d", event->tid);
	}
	return 0;
}

int jp_open_command(struct jp_session *session, struct jp_error *err)
{
	pid_t pid = session->target->pid;
	int ret = jp_open_watched(session, true, pid, err);

	session->info.threads = 1;
	return ret == -ESRCH ? jp_fail(err, ESRCH, "%s: killed before it started",
				       session->target->command[0])
			     : ret;
}

int jp_open_switch(struct jp_session *session, enum jp_stream stream, bool enable,
		   struct jp_error *err)
{
	unsigned long request = enable ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE;
	const struct jp_opened_events *opened = &session->recorder->opened;
	int ret = 0;

	for (size_t i = 0; i < opened->count; i++)
		if (opened->list[i].stream == stream && ioctl(opened->list[i].fd, request, 0) &&
		    !ret)
			ret = jp_fail(err, errno, "an event of thread %d cannot be %s: %s",
				      opened->list[i].tid, enable ? "enabled" : "disabled",
				      strerror(errno));
	return ret;
}

/* Adds the counts and losses of an event, and of its copies in threads that inherited it, to the
 * session's totals. */
static void add_counts(struct jp_recorder *recorder, const struct jp_opened *event)
{
	struct {
		uint64_t value, id, lost;
	} counts = {0};
	ssize_t nr_read;

	/* Disable the event first: a sample after the read() would not be counted. */
	ioctl(event->fd, PERF_EVENT_IOC_DISABLE, 0);
	/* Kernels before 6.0 lack PERF_FORMAT_LOST: read() then returns only two values. */
	nr_read = read(event->fd, &counts, sizeof(counts));
	if (nr_read < 0)
		jp_shortage_note(errno);
	if (nr_read < (ssize_t)(2 * sizeof(counts.value)))
		return;
	recorder->opened.counted[event->stream] += counts.value;
	recorder->opened.lost[event->stream] += counts.lost;
}

void jp_open_close(struct jp_session *session, size_t first_index)
{
	struct jp_opened_events *opened = &session->recorder->opened;

	pthread_mutex_lock(&session->lock);
	for (size_t i = first_index; i < opened->count; i++) {
		add_counts(session->recorder, &opened->list[i]);
		close(opened->list[i].fd);
	}
	opened->count = first_index;
	pthread_mutex_unlock(&session->lock);
}
