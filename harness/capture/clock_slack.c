// SPDX-License-Identifier: GPL-2.0-only
#include "harness/capture/clock_slack.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "harness/base/clock.h"
#include "harness/capture/events.h"

/*
 * Events read CLOCK_MONOTONIC in NMI-safe form, which can differ from what clock_gettime() gives.
 * Setting the thread's name emits a COMM record between two readings of the clock: by how much the
 * record lies outside of them is the difference.
 */
enum { TURNS = 100, RECORDS = 8192 };

struct measurement {
	const int *cpus;
	unsigned int nr_cpus;
	uint64_t slack;
	int error;
	const char *what;
};

struct comm_record {
	struct perf_event_header header;
	uint32_t pid, tid;
	char name[16];
	/* sample_id */
	uint32_t sample_pid, sample_tid;
	uint64_t time;
};

static int failed(struct measurement *m, int error, const char *what)
{
	m->error = error;
	m->what = what;
	return -error;
}

static int turn(struct measurement *m, struct perf_event_mmap_page *page, uint64_t *tail)
{
	const struct comm_record *record;
	uint64_t before, after, head, outside = 0;

	before = jp_clock_now();
	prctl(PR_SET_NAME, "jp-clock-slack"); /* 15 bytes: the record's name takes 16 */
	after = jp_clock_now();
	head = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE);
	if (head == *tail)
		return failed(m, ENODATA, "no COMM record came");
	if ((*tail & (RECORDS - 1)) + sizeof(*record) > RECORDS) {
		*tail = head; /* the record wraps: skip it */
		__atomic_store_n(&page->data_tail, head, __ATOMIC_RELEASE);
		return 0;
	}
	record =
		(const void *)((unsigned char *)page + page->data_offset + (*tail & (RECORDS - 1)));
	if (record->header.type != PERF_RECORD_COMM || record->header.size < sizeof(*record))
		return failed(m, EPROTO, "a COMM record was expected");
	if (record->time < before)
		outside = before - record->time;
	else if (record->time > after)
		outside = record->time - after;
	if (outside > m->slack)
		m->slack = outside;
	*tail = head;
	__atomic_store_n(&page->data_tail, head, __ATOMIC_RELEASE);
	return 0;
}

static int measure_cpu(struct measurement *m, int cpu)
{
	size_t page_size = (size_t)sysconf(_SC_PAGESIZE);
	struct perf_event_mmap_page *page;
	struct perf_event_attr attr;
	uint64_t tail = 0;
	cpu_set_t *set = CPU_ALLOC((size_t)cpu + 1);
	int fd, ret = 0;

	if (!set)
		return failed(m, ENOMEM, "no memory");
	CPU_ZERO_S(CPU_ALLOC_SIZE((size_t)cpu + 1), set);
	CPU_SET_S((size_t)cpu, CPU_ALLOC_SIZE((size_t)cpu + 1), set);
	ret = sched_setaffinity(0, CPU_ALLOC_SIZE((size_t)cpu + 1), set);
	CPU_FREE(set);
	if (ret)
		return 0; /* a CPU that we may not run on: nothing that we start will either */
	jp_attr_ring(&attr);
	attr.disabled = 0;
	attr.comm = 1;
	attr.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME;
	fd = jp_perf_open(&attr, 0, cpu);
	if (fd < 0)
		return failed(m, -fd, "perf_event_open");
	page = mmap(NULL, page_size + RECORDS, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (page == MAP_FAILED) {
		ret = failed(m, errno, "mmap of a ring of 8 KiB");
	} else {
		for (int i = 0; i < TURNS && !ret; i++)
			ret = turn(m, page, &tail);
		munmap(page, page_size + RECORDS);
	}
	close(fd);
	return ret;
}

/* On a thread of its own: neither our name nor our affinity changes. */
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
		return jp_fail(err, m.error, "cannot measure the event clock: %s: %s", m.what,
			       strerror(m.error));
	*slack = m.slack;
	return 0;
}
