// SPDX-License-Identifier: GPL-2.0-only
#include "harness/capture/witness.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "harness/base/clock.h"
#include "harness/base/map.h"
#include "harness/base/order.h"
#include "harness/base/path.h"
#include "harness/base/shortage.h"
#include "harness/base/untrusted_file.h"
#include "harness/capture/clock_slack.h"
#include "harness/capture/events.h"
#include "harness/capture/probe.h"
#include "harness/capture/session.h"
#include "harness/format/perfdata/format.h"
#include "harness/format/perfdata/ring.h"
#include "harness/format/perfdata/write.h"
#include "harness/format/truth/loaded.h"
#include "harness/model/evidence/witness.h"
#include "harness/model/machine/machine.h"

enum {
	RING_LEAST = 16 << 10,
	RING_MOST = 128 << 10, /* bytes; an ordinary user has 516 KiB for all rings of a CPU */
	/* Factor of the ring size for users without that limit, because a busy host can delay the
	 * reader. */
	AMPLE = 8,
	RECORD = 80,          /* bytes of a sample's record */
	READS_PER_SECOND = 4, /* a ring holds the samples of 1 / READS_PER_SECOND seconds */
	IDLE_MS = 10,         /* longest time between two readings of the rings in ms */
};

/* Ring and event of one CPU. */
struct witness_cpu {
	/* Descriptors: @owner never counts, and keeps the ring after the watched threads have
	 * ended. */
	int cpu, owner, event;
	struct jp_perf_ring ring;
};

struct jp_witness {
	struct witness_cpu *cpus;
	unsigned int nr_cpus;
	struct perf_event_attr attr;
	struct jp_perf_layout layout;
	struct jp_perfdata_writer *writer;
	int hold[2]; /* our end and the workload's end of the socket on which the workload waits */
	int wake;
	pthread_t thread;
	bool runs, stopping; /* @stopping is atomic */
	uint64_t first, last;
	struct jp_witness_summary summary;
	int truth; /* -1: the workload has not created the truth yet */
	char *truth_path;
	struct jp_truth_loaded loaded;
	pthread_mutex_t lock; /* protects the members below */
	uint64_t counts_from;
	struct jp_map threads; /* tid -> struct witness_thread */
	struct jp_witness_tally tally;
};

/* State of a thread at its last sample. */
struct witness_thread {
	uint64_t time;
	uint32_t cpu;
	bool in_code;
};

static void note_denial(struct jp_witness *witness, const char *operation, int error)
{
	char reason[128];

	if (*witness->summary.denied)
		return;
	jp_perf_explain_error(error, reason, sizeof(reason));
	snprintf(witness->summary.denied, sizeof(witness->summary.denied), "%s: %s", operation,
		 reason);
	jp_shortage_note(error);
}

/* Adds a sample to the tally. A change between emitted and other code since the thread's last
 * sample counts as an interruption, because its exact time is unknown. */
static void count_sample(struct jp_witness *witness, const struct jp_event *event)
{
	struct jp_witness_tally *tally = &witness->tally;
	struct witness_thread *thread;
	uint64_t ip, sp;
	bool in_code;

	if (event->time < witness->counts_from)
		return;
	thread = jp_map_at(&witness->threads, event->tid, sizeof(*thread));
	if (!thread)
		return;
	in_code = event->sample.regs &&
		  jp_machine_user(event->sample.regs->machine, event, &ip, &sp) &&
		  jp_truth_loaded_contains(&witness->loaded, ip);
	tally->samples++;
	tally->in_code += in_code;
	tally->gaps += !thread->time || thread->cpu != event->cpu || thread->in_code != in_code ||
		       (double)event->time - (double)thread->time >
			       JP_WITNESS_GAP * (double)witness->attr.sample_period;
	*thread = (struct witness_thread){event->time, event->cpu, in_code};
}

static void note_record(struct jp_witness *witness, const struct jp_perf_record *record)
{
	struct jp_event event;
	struct jp_regs regs;

	if (jp_perf_decode(&witness->layout, record, &event, &regs))
		return;
	if (event.type == JP_EVENT_SAMPLE) {
		witness->first = witness->summary.samples++ ? jp_min(witness->first, event.time)
							    : event.time;
		witness->last = jp_max(witness->last, event.time);
		count_sample(witness, &event);
	} else if (event.type == JP_EVENT_LOST) {
		witness->summary.lost += event.lost.lost;
	}
}

static void read_ring(struct jp_witness *witness, struct jp_perf_ring *ring)
{
	uint64_t buffer[JP_PERF_RECORD_MOST / sizeof(uint64_t)];
	const struct jp_perf_record *record;

	while ((record = jp_perf_ring_next(ring, buffer))) {
		note_record(witness, record);
		jp_perfdata_put(witness->writer, record, record->size);
	}
	if (ring->tail != ring->head) {
		witness->summary.lost++;
		ring->tail = ring->head;
	}
	jp_perf_ring_release(ring);
}

/* Opens the events on every CPU for the workload's only thread, which is waiting. All later threads
 * and processes of the workload inherit the events. */
static void open_events(struct jp_witness *witness, pid_t pid)
{
	for (unsigned int i = 0; i < witness->nr_cpus; i++) {
		struct witness_cpu *cpu = &witness->cpus[i];
		uint64_t id;

		cpu->event = jp_perf_open(&witness->attr, pid, cpu->cpu);
		if (cpu->event < 0) {
			note_denial(witness, "perf_event_open of the witness", -cpu->event);
			return;
		}
		if (ioctl(cpu->event, PERF_EVENT_IOC_SET_OUTPUT, cpu->owner) ||
		    ioctl(cpu->event, PERF_EVENT_IOC_ID, &id) ||
		    jp_perfdata_assign_id(witness->writer, 0, id)) {
			note_denial(witness, "ring of the witness", errno);
			return;
		}
	}
	for (unsigned int i = 0; i < witness->nr_cpus; i++)
		if (ioctl(witness->cpus[i].event, PERF_EVENT_IOC_ENABLE, 0))
			note_denial(witness, "PERF_EVENT_IOC_ENABLE of the witness", errno);
	witness->summary.started = jp_clock_now();
}

/* Handles the message by which the workload states that it waits, or the end of file if the
 * workload has ended. */
static void handle_workload_message(struct jp_witness *witness)
{
	pid_t pid;

	if (recv(witness->hold[0], &pid, sizeof(pid), MSG_DONTWAIT) == sizeof(pid)) {
		pthread_mutex_lock(&witness->lock);
		if (!*witness->summary.denied)
			open_events(witness, pid);
		pthread_mutex_unlock(&witness->lock);
		send(witness->hold[0], "", 1, MSG_NOSIGNAL | MSG_DONTWAIT);
	}
	close(witness->hold[0]);
	witness->hold[0] = -1;
}

/* Reads which code was emitted so far. The workload writes code to its truth file before it runs
 * the code. */
static void read_truth(struct jp_witness *witness)
{
	struct jp_error ignored;
	uint64_t size;

	if (witness->truth < 0)
		witness->truth = jp_untrusted_open(witness->truth_path, -1, &size, &ignored);
	if (jp_truth_loaded_read(&witness->loaded, witness->truth))
		jp_shortage_note(ENOMEM);
}

static bool read_rings(struct jp_witness *witness)
{
	bool has_records = false;

	for (unsigned int i = 0; i < witness->nr_cpus; i++) {
		struct jp_perf_ring *ring = &witness->cpus[i].ring;

		if (ring->data)
			jp_perf_ring_load_head(ring);
		has_records |= ring->data && ring->head != ring->tail;
	}
	if (!has_records)
		return false;
	read_truth(witness);
	pthread_mutex_lock(&witness->lock);
	for (unsigned int i = 0; i < witness->nr_cpus; i++)
		if (witness->cpus[i].ring.data)
			read_ring(witness, &witness->cpus[i].ring);
	pthread_mutex_unlock(&witness->lock);
	return true;
}

static void *watch_rings(void *context)
{
	struct jp_witness *witness = context;
	const nfds_t count = witness->nr_cpus + 2;
	struct pollfd *fds = calloc(count, sizeof(*fds));
	bool has_records = true, stop = false;

	/* The rings are small: read them with the highest priority allowed. */
	(void)setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), JP_HIGHEST_PRIORITY);
	for (unsigned int i = 0; fds && i < witness->nr_cpus; i++)
		fds[i + 2] = (struct pollfd){.fd = witness->cpus[i].owner, .events = POLLIN};
	while (!stop || has_records) {
		if (fds) {
			fds[0] = (struct pollfd){.fd = witness->wake, .events = POLLIN};
			fds[1] = (struct pollfd){.fd = witness->hold[0], .events = POLLIN};
			poll(fds, stop ? 2 : count, stop ? 0 : IDLE_MS);
		}
		if (witness->hold[0] >= 0 && fds && fds[1].revents)
			handle_workload_message(witness);
		stop = __atomic_load_n(&witness->stopping, __ATOMIC_ACQUIRE);
		has_records = read_rings(witness);
	}
	free(fds);
	return NULL;
}

static uint64_t get_ring_size(const struct jp_witness *witness)
{
	const uint64_t rate = JP_NS_PER_S / witness->attr.sample_period;
	uint64_t size = RING_LEAST;

	while (size < RING_MOST && size < rate * RECORD / READS_PER_SECOND)
		size *= 2;
	return jp_rings_are_rationed() ? size : AMPLE * size;
}

static bool open_ring(struct jp_witness *witness, struct witness_cpu *cpu)
{
	struct perf_event_attr attr;
	int ret = -EPERM;

	jp_attr_ring(&attr);
	cpu->owner = jp_perf_open(&attr, 0, cpu->cpu);
	if (cpu->owner < 0) {
		note_denial(witness, "perf_event_open of the witness's ring", -cpu->owner);
		return false;
	}
	/* EPERM: the ring exceeds RLIMIT_MEMLOCK, so try a smaller one. */
	for (uint64_t size = get_ring_size(witness); ret == -EPERM && size >= RING_LEAST; size /= 2)
		ret = jp_perf_ring_map(&cpu->ring, cpu->owner, size);
	if (ret)
		note_denial(witness, "mmap of the witness's ring", -ret);
	return !ret;
}

static int create_file(struct jp_witness *witness, const char *dir, struct jp_error *err)
{
	struct jp_perf_attr attr = {0};
	const struct jp_perfdata_event event = {&attr, "witness"};
	char path[4096];

	memcpy(&attr, &witness->attr, witness->attr.size);
	if (jp_path_build(path, sizeof(path), err, "%s/witness", dir))
		return -ENAMETOOLONG;
	if (asprintf(&witness->truth_path, "%s/truth", dir) < 0) {
		witness->truth_path = NULL;
		return jp_fail(err, ENOMEM, "out of memory for the witness");
	}
	witness->writer = jp_perfdata_create(path, &event, 1, err);
	return witness->writer ? 0 : -EIO;
}

static int start_witness(struct jp_witness *witness, const struct jp_capture_options *options,
			 const char *dir, struct jp_error *err)
{
	struct jp_abilities abilities;
	int *cpus, count = jp_cpus_online(&cpus, err);
	int ret = jp_abilities_try(options, &abilities);

	if (count < 0)
		return count;
	if (ret)
		note_denial(witness, "perf_event_open", -ret);
	jp_attr_witness(&witness->attr, options, &abilities);
	jp_attr_layout(&witness->attr, &witness->layout);
	witness->cpus = calloc((size_t)count, sizeof(*witness->cpus));
	for (int i = 0; witness->cpus && i < count; i++)
		witness->cpus[witness->nr_cpus++] =
			(struct witness_cpu){.cpu = cpus[i], .owner = -1, .event = -1};
	free(cpus);
	witness->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (!witness->cpus || witness->wake < 0 ||
	    socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, witness->hold))
		return jp_fail(err, errno, "the witness: %s", strerror(errno));
	for (unsigned int i = 0; i < witness->nr_cpus && !*witness->summary.denied; i++)
		open_ring(witness, &witness->cpus[i]);
	ret = create_file(witness, dir, err)
		      ?: jp_thread_start(&witness->thread, watch_rings, witness, err);
	witness->runs = !ret;
	return ret;
}

struct jp_witness *jp_witness_open(const struct jp_capture_options *options, const char *dir,
				   struct jp_error *err)
{
	struct jp_witness *witness = calloc(1, sizeof(*witness));

	if (!witness) {
		jp_fail(err, ENOMEM, "out of memory for the witness");
		return NULL;
	}
	witness->wake = witness->truth = witness->hold[0] = witness->hold[1] = -1;
	pthread_mutex_init(&witness->lock, NULL);
	if (!start_witness(witness, options, dir, err))
		return witness;
	jp_witness_close(witness, NULL, NULL);
	return NULL;
}

int jp_witness_child_fd(const struct jp_witness *witness)
{
	return witness->hold[1];
}

void jp_witness_close_child_fd(struct jp_witness *witness)
{
	if (witness->hold[1] >= 0)
		close(witness->hold[1]);
	witness->hold[1] = -1;
}

void jp_witness_count_from(struct jp_witness *witness, uint64_t time)
{
	pthread_mutex_lock(&witness->lock);
	jp_map_free(&witness->threads);
	witness->counts_from = time;
	witness->tally = (struct jp_witness_tally){0};
	pthread_mutex_unlock(&witness->lock);
}

struct jp_witness_tally jp_witness_tally(struct jp_witness *witness)
{
	struct jp_witness_tally tally;

	pthread_mutex_lock(&witness->lock);
	tally = witness->tally;
	tally.denied = *witness->summary.denied;
	pthread_mutex_unlock(&witness->lock);
	tally.period = witness->attr.sample_period;
	return tally;
}

/* Returns how many samples were lost by the event of @cpu and by its inherited copies. */
static uint64_t read_lost_count(const struct jp_witness *witness, const struct witness_cpu *cpu)
{
	struct {
		uint64_t value, id, lost;
	} counts = {0};

	if (!(witness->attr.read_format & JP_PERF_FORMAT_LOST) ||
	    read(cpu->event, &counts, sizeof(counts)) != sizeof(counts))
		return 0;
	return counts.lost;
}

static void close_cpu(struct witness_cpu *cpu)
{
	if (cpu->event >= 0)
		close(cpu->event);
	jp_perf_ring_unmap(&cpu->ring);
	if (cpu->owner >= 0)
		close(cpu->owner);
}

static void stop_witness(struct jp_witness *witness)
{
	for (unsigned int i = 0; i < witness->nr_cpus; i++)
		if (witness->cpus[i].event >= 0)
			ioctl(witness->cpus[i].event, PERF_EVENT_IOC_DISABLE, 0);
	if (witness->runs) {
		__atomic_store_n(&witness->stopping, true, __ATOMIC_RELEASE);
		eventfd_write(witness->wake, 1);
		pthread_join(witness->thread, NULL);
	}
}

int jp_witness_close(struct jp_witness *witness, struct jp_witness_summary *summary,
		     struct jp_error *err)
{
	uint64_t lost = 0;
	int ret = 0;

	if (!witness)
		return 0;
	stop_witness(witness);
	for (unsigned int i = 0; i < witness->nr_cpus; i++) {
		if (witness->cpus[i].event >= 0)
			lost += read_lost_count(witness, &witness->cpus[i]);
		close_cpu(&witness->cpus[i]);
	}
	if (lost > witness->summary.lost)
		witness->summary.lost = lost;
	for (int i = 0; i < 2; i++)
		if (witness->hold[i] >= 0)
			close(witness->hold[i]);
	if (witness->wake >= 0)
		close(witness->wake);
	if (witness->writer)
		ret = jp_perfdata_close(witness->writer, witness->first, witness->last, err);
	if (summary)
		*summary = witness->summary;
	if (witness->truth >= 0)
		close(witness->truth);
	jp_truth_loaded_free(&witness->loaded);
	jp_map_free(&witness->threads);
	pthread_mutex_destroy(&witness->lock);
	free(witness->truth_path);
	free(witness->cpus);
	free(witness);
	return ret;
}
