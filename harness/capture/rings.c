// SPDX-License-Identifier: GPL-2.0-only
#include "harness/capture/rings.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "harness/capture/recorder.h"
#include "harness/capture/session.h"
#include "harness/capture/worker.h"

enum {
	SIDEBAND_RING = 512 << 10,
	/* Size of a sideband ring in bytes: space for two thousand records. */
	SIDEBAND_AMPLE = 256 << 10,
	SIDEBAND_LEAST = 32 << 10,
	WAKE_SIDEBAND = 16 << 10,
	LARGEST_RING = 64 << 20,
	CHAIN_MARKERS = 8, /* kernel.perf_event_max_contexts_per_stack */
	/* Most bytes of the record that brings a deferred callchain. */
	DEFERRED_RECORD = 4 << 10,
};
/* A ring holds the records of 1 / STALLS_PER_SECOND seconds, so that the thread that drains it may
 * be delayed that long. */
enum { STALLS_PER_SECOND = 4 };

static uint64_t sample_size(const struct jp_session *session)
{
	uint64_t size = sizeof(struct jp_perf_record) + 6 * sizeof(uint64_t);

	size += (1 + (uint64_t)__builtin_popcountll(jp_registers_user)) * sizeof(uint64_t);
	if (session->options.chain)
		size += (1 + session->info.max_stack + CHAIN_MARKERS) * sizeof(uint64_t);
	if (session->options.chain && session->options.deferred)
		size += DEFERRED_RECORD;
	if (session->options.stack)
		size += session->options.stack + 2 * sizeof(uint64_t);
	return size;
}

static uint64_t round_up_size(uint64_t min_size)
{
	uint64_t size = (uint64_t)sysconf(_SC_PAGESIZE);

	while (size < min_size && size < (UINT64_C(1) << 62))
		size *= 2;
	return size;
}

static void unmap_rings(struct jp_recorder *recorder, unsigned int count)
{
	for (unsigned int i = 0; i < count; i++)
		jp_perf_ring_unmap(&recorder->rings[i].records);
}

/* mmap() locks the address space of our process while it clears the rings. The threads that empty
 * other rings wait for that lock, so the watched threads must not delay its holder. */
static int map_rings(struct jp_recorder *recorder, unsigned int count,
		     const uint64_t size[JP_STREAMS])
{
	const id_t thread = (id_t)syscall(SYS_gettid);
	const int priority = getpriority(PRIO_PROCESS, thread);
	int ret = 0;

	(void)setpriority(PRIO_PROCESS, thread, JP_HIGHEST_PRIORITY);
	for (unsigned int i = 0; i < count && !ret; i++) {
		struct jp_ring *ring = &recorder->rings[i];

		ret = jp_perf_ring_map(&ring->records, ring->fd, size[ring->stream]);
	}
	(void)setpriority(PRIO_PROCESS, thread, priority);
	if (ret)
		unmap_rings(recorder, count);
	return ret;
}

/* Opens the event that owns the ring: it belongs to the thread that drains the rings, and never
 * counts. So the ring outlives the watched threads, and polling its descriptor never reports a
 * hang-up. */
static int open_owner(struct jp_ring *ring, pid_t drainer, uint64_t sideband_ring,
		      struct jp_error *err)
{
	struct perf_event_attr attr;
	char reason[128];

	jp_attr_ring(&attr);
	/* Wake the thread early for sideband records, so that it can open the files of short-lived
	 * processes. */
	if (ring->stream == JP_SIDEBAND) {
		attr.watermark = 1;
		attr.wakeup_watermark = WAKE_SIDEBAND;
		if (sideband_ring && sideband_ring < 2 * WAKE_SIDEBAND)
			attr.wakeup_watermark = (uint32_t)round_up_size(sideband_ring) / 2;
	}
	ring->fd = jp_perf_open(&attr, drainer, ring->cpu);
	if (ring->fd >= 0)
		return 0;
	jp_perf_explain_error(-ring->fd, reason, sizeof(reason));
	return jp_fail(err, -ring->fd, "perf_event_open of the ring of CPU %d: %s", ring->cpu,
		       reason);
}

static int open_owners(struct jp_session *session, struct jp_error *err)
{
	struct jp_recorder *recorder = session->recorder;
	unsigned int count = JP_STREAMS * session->nr_cpus;
	int ret = 0;

	recorder->rings = calloc(count, sizeof(*recorder->rings));
	if (!recorder->rings)
		return jp_fail(err, ENOMEM, "out of memory for %u rings", count);
	for (unsigned int i = 0; i < count; i++)
		recorder->rings[i] = (struct jp_ring){
			.fd = -1,
			.cpu = session->cpus[i % session->nr_cpus],
			.stream = (enum jp_stream)(i / session->nr_cpus),
		};
	for (unsigned int i = 0; i < count && !ret; i++)
		ret = open_owner(&recorder->rings[i], recorder->drain.tid,
				 session->options.sideband_ring, err);
	return ret;
}

/* Halves the ring size of one stream: the stream that needs its size least. Keeps a size that the
 * user requested. Returns false if no size can be halved. */
static bool shrink_rings(const struct jp_capture_options *options, uint64_t size[JP_STREAMS],
			 uint64_t min_size)
{
	if (size[JP_SIDEBAND] > SIDEBAND_AMPLE && !options->sideband_ring)
		size[JP_SIDEBAND] /= 2;
	else if (size[JP_SAMPLING] > min_size && !options->ring)
		size[JP_SAMPLING] /= 2;
	else if (size[JP_SIDEBAND] > SIDEBAND_LEAST && !options->sideband_ring)
		size[JP_SIDEBAND] /= 2;
	else
		return false;
	return true;
}

/* Maps rings as large as requested, or as large as permitted. EPERM: larger than RLIMIT_MEMLOCK. */
static int size_rings(struct jp_session *session, uint64_t bytes, uint64_t size[JP_STREAMS],
		      struct jp_error *err)
{
	const struct jp_capture_options *options = &session->options;
	const bool is_given = options->ring || options->sideband_ring;
	uint64_t min_size = round_up_size(2 * bytes);
	uint64_t wanted_size = bytes * options->frequency / STALLS_PER_SECOND;
	int ret;

	size[JP_SAMPLING] = round_up_size(options->ring ? options->ring : wanted_size);
	size[JP_SIDEBAND] =
		options->sideband_ring ? round_up_size(options->sideband_ring) : SIDEBAND_RING;
	if (size[JP_SAMPLING] > LARGEST_RING && !options->ring)
		size[JP_SAMPLING] = LARGEST_RING;
	if (size[JP_SAMPLING] < min_size)
		size[JP_SAMPLING] = min_size;
	while ((ret = map_rings(session->recorder, JP_STREAMS * session->nr_cpus, size)) != 0) {
		const bool is_scarce = ret == -EPERM || ret == -ENOMEM;

		if (!is_scarce || !shrink_rings(options, size, min_size))
			return jp_fail(err, is_scarce && is_given ? EOPNOTSUPP : -ret,
				       "mmap of rings of %llu + %llu bytes on %u CPUs: %s "
				       "(RLIMIT_MEMLOCK, kernel.perf_event_mlock_kb=%ld)",
				       (unsigned long long)size[JP_SAMPLING],
				       (unsigned long long)size[JP_SIDEBAND], session->nr_cpus,
				       strerror(-ret), jp_sysctl_read("perf_event_mlock_kb", 0));
	}
	return 0;
}

/* Returns the highest rate up to @rate without the factors 2, 3 and 5 of the kernel's tick
 * (CONFIG_HZ 100, 250, 300 or 1000). Samples at a multiple of the tick's period would keep their
 * distance to the tick, and a capture of user space would miss all of them that fall into the
 * tick's work. */
static uint64_t avoid_tick(uint64_t rate)
{
	while (rate > 1 && (rate % 2 == 0 || rate % 3 == 0 || rate % 5 == 0))
		rate--;
	return rate;
}

int jp_rings_open(struct jp_session *session, struct jp_error *err)
{
	struct jp_recorder *recorder = session->recorder;
	const uint64_t wanted_rate = jp_capture_frequency(&session->options);
	uint64_t bytes = sample_size(session), size[JP_STREAMS], rate;
	int ret = open_owners(session, err) ?: size_rings(session, bytes, size, err);

	if (ret)
		return ret;
	for (unsigned int i = 0; i < JP_STREAMS * session->nr_cpus; i++) {
		struct epoll_event event = {.events = EPOLLIN, .data.fd = recorder->rings[i].fd};

		if (epoll_ctl(recorder->drain.epoll, EPOLL_CTL_ADD, recorder->rings[i].fd, &event))
			return jp_fail(err, errno, "epoll of a ring: %s", strerror(errno));
	}
	/* Lower the sampling rate to what the rings can hold. */
	rate = size[JP_SAMPLING] * STALLS_PER_SECOND / bytes;
	rate = rate < wanted_rate ? avoid_tick(rate) : wanted_rate;
	recorder->frequency = rate ? (uint32_t)rate : 1;
	return 0;
}

void jp_rings_close(struct jp_session *session)
{
	struct jp_recorder *recorder = session->recorder;
	unsigned int count = JP_STREAMS * session->nr_cpus;

	if (!recorder->rings)
		return;
	unmap_rings(recorder, count);
	for (unsigned int i = 0; i < count; i++)
		if (recorder->rings[i].fd >= 0)
			close(recorder->rings[i].fd);
	free(recorder->rings);
	recorder->rings = NULL;
}
