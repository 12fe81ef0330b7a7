// SPDX-License-Identifier: GPL-2.0-only
#include "harness/capture/clock_slack.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "harness/base/cleanup.h"
#include "harness/base/clock.h"
#include "harness/base/file.h"
#include "harness/base/number.h"
#include "harness/capture/events.h"
#include "harness/format/perfdata/ring.h"

/* Parses a list such as "0-3,8". Returns the number of CPUs or -EINVAL. */
static int parse_cpus(const char *text, int *cpus, size_t capacity)
{
	size_t count = 0;

	while (*text && *text != '\n') {
		uint64_t first, last;

		if (!jp_number_take(&text, 10, INT32_MAX, &first))
			return -EINVAL;
		last = first;
		if (*text == '-') {
			text++;
			if (!jp_number_take(&text, 10, INT32_MAX, &last))
				return -EINVAL;
		}
		for (uint64_t cpu = first; cpu <= last && count < capacity; cpu++)
			cpus[count++] = (int)cpu;
		if (*text && *text != ',' && *text != '\n')
			return -EINVAL;
		text += *text == ',';
	}
	return (int)count;
}

int jp_cpus_online(int **cpus, struct jp_error *err)
{
	static const char path[] = "/sys/devices/system/cpu/online";
	long conf = sysconf(_SC_NPROCESSORS_CONF), online = sysconf(_SC_NPROCESSORS_ONLN);
	size_t capacity = (size_t)(conf > online ? conf : online);
	jp_cleanup_free int *list = calloc(capacity ? capacity : 1, sizeof(*list));
	char text[4096];
	int count = 0;

	if (!list)
		return jp_fail(err, ENOMEM, "out of memory for %zu CPU numbers", capacity);
	if (jp_file_read_text(path, text, sizeof(text)) >= 0) {
		count = parse_cpus(text, list, capacity);
	} else {
		/* Without sysfs, as in some containers: assume numbers without gaps; otherwise
		 * opening an event fails with ENODEV. */
		for (; count < online; count++)
			list[count] = count;
	}
	if (count <= 0)
		return jp_fail(err, EINVAL, "%s: expected a list of CPUs", path);
	*cpus = jp_steal(&list);
	return count;
}

/* Events read CLOCK_MONOTONIC in an NMI-safe way, which may differ from clock_gettime(). Setting a
 * thread's name between two readings of the clock writes a COMM record. The slack is how far the
 * record's time lies outside of the two readings. */
enum { TURNS = 100, RECORDS = 8192 }; /* measurements per CPU; bytes of the ring */

struct measurement {
	const int *cpus;
	unsigned int nr_cpus;
	uint64_t slack;
	int error;
	const char *failed_step;
};

static int fail_measurement(struct measurement *m, int error, const char *failed_step)
{
	m->error = error;
	m->failed_step = failed_step;
	return -error;
}

static int measure_once(struct measurement *m, struct jp_perf_ring *ring,
			const struct jp_perf_layout *layout)
{
	uint64_t before, after, outer_time = 0, buffer[RECORDS / sizeof(uint64_t)];
	const struct jp_perf_record *record;
	struct jp_event event;

	before = jp_clock_now();
	prctl(PR_SET_NAME, "jp-clock-slack");
	after = jp_clock_now();
	jp_perf_ring_load_head(ring);
	if (ring->head == ring->tail)
		return fail_measurement(m, ENODATA, "no COMM record came");
	record = jp_perf_ring_next(ring, buffer);
	if (!record || jp_perf_decode(layout, record, &event, NULL) || event.type != JP_EVENT_COMM)
		return fail_measurement(m, EPROTO, "a COMM record was expected");
	if (event.time < before)
		outer_time = before - event.time;
	else if (event.time > after)
		outer_time = event.time - after;
	if (outer_time > m->slack)
		m->slack = outer_time;
	ring->tail = ring->head;
	jp_perf_ring_release(ring);
	return 0;
}

static int measure_cpu(struct measurement *m, int cpu)
{
	struct jp_perf_layout layout;
	struct perf_event_attr attr;
	struct jp_perf_ring ring;
	cpu_set_t *set = CPU_ALLOC((size_t)cpu + 1);
	int fd, ret = 0;

	if (!set)
		return fail_measurement(m, ENOMEM, "out of memory");
	CPU_ZERO_S(CPU_ALLOC_SIZE((size_t)cpu + 1), set);
	CPU_SET_S((size_t)cpu, CPU_ALLOC_SIZE((size_t)cpu + 1), set);
	ret = sched_setaffinity(0, CPU_ALLOC_SIZE((size_t)cpu + 1), set);
	CPU_FREE(set);
	if (ret)
		return 0; /* we may not run on that CPU, so our children will not either */
	jp_attr_ring(&attr);
	attr.disabled = 0;
	attr.comm = 1;
	attr.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME;
	fd = jp_perf_open(&attr, 0, cpu);
	if (fd < 0)
		return fail_measurement(m, -fd, "perf_event_open");
	jp_attr_layout(&attr, &layout);
	ret = jp_perf_ring_map(&ring, fd, RECORDS);
	if (ret)
		fail_measurement(m, -ret, "mmap of a ring of 8 KiB");
	for (int i = 0; i < TURNS && !ret; i++)
		ret = measure_once(m, &ring, &layout);
	jp_perf_ring_unmap(&ring);
	close(fd);
	return ret;
}

/* Runs in a thread of its own, which changes its name and affinity. */
static void *measure(void *context)
{
	struct measurement *m = context;

	for (unsigned int i = 0; i < m->nr_cpus; i++)
		if (measure_cpu(m, m->cpus[i]))
			break;
	return NULL;
}

int jp_clock_slack(const int *cpus, unsigned int nr_cpus, uint64_t *slack, struct jp_error *err)
{
	struct measurement m = {.cpus = cpus, .nr_cpus = nr_cpus};
	pthread_t thread;
	int error = pthread_create(&thread, NULL, measure, &m);

	if (error)
		return jp_fail(err, error, "cannot start a thread: %s", strerror(error));
	pthread_join(thread, NULL);
	if (m.error)
		return jp_fail(err, m.error, "cannot measure the event clock: %s: %s",
			       m.failed_step, strerror(m.error));
	*slack = m.slack;
	return 0;
}
