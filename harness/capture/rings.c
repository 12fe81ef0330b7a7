// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <unistd.h>

#include "harness/capture/session.h"
#include "harness/format/procmaps/procmaps.h"

enum {
	SIDEBAND_RING = 512 << 10,
	SIDEBAND_AMPLE = 256 << 10, /* two thousand records */
	SIDEBAND_LEAST = 32 << 10,
	WAKE_SIDEBAND = 16 << 10,
	LARGEST_RING = 64 << 20,
	CHAIN_MARKERS = 8, /* kernel.perf_event_max_contexts_per_stack */
	LARGEST_RECORD = 1 << 16,
	DEFERRED_RECORD = 4 << 10, /* what the kernel keeps of a deferred callchain */
};
/* A ring holds what comes in a quarter of a second: as long may the draining thread not run. */
enum { STALLS_PER_SECOND = 4 };

static uint64_t sample_size(const struct jp_session *session)
{
	uint64_t size = sizeof(struct perf_event_header) + 6 * sizeof(uint64_t);

	size += (1 + (uint64_t)__builtin_popcountll(jp_registers_user)) * sizeof(uint64_t);
	if (session->options.chain)
		size += (1 + session->info.max_stack + CHAIN_MARKERS) * sizeof(uint64_t);
	if (session->options.chain && session->options.deferred)
		size += DEFERRED_RECORD;
	if (session->options.stack)
		size += session->options.stack + 2 * sizeof(uint64_t);
	return size;
}

static uint64_t power_of_two(uint64_t least)
{
	uint64_t size = (uint64_t)sysconf(_SC_PAGESIZE);

	while (size < least && size < (UINT64_C(1) << 62))
		size *= 2;
	return size;
}

static void unmap_rings(struct jp_session *session)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	for (unsigned int i = 0; i < JP_STREAMS * session->nr_cpus; i++) {
		if (session->rings[i].base)
			munmap(session->rings[i].base, page + session->rings[i].size);
		session->rings[i].base = NULL;
	}
}

static int map_rings(struct jp_session *session, const uint64_t size[JP_STREAMS])
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	for (unsigned int i = 0; i < JP_STREAMS * session->nr_cpus; i++) {
		struct jp_ring *ring = &session->rings[i];
		void *base = mmap(NULL, page + size[ring->stream], PROT_READ | PROT_WRITE,
				  MAP_SHARED, ring->fd, 0);
		int error = errno;

		if (base == MAP_FAILED) {
			unmap_rings(session);
			return -error;
		}
		ring->base = base;
		ring->size = size[ring->stream];
	}
	return 0;
}

/*
 * Rings belong to events of the draining thread that never count: they outlive the watched threads,
 * and polling them reports no hang-up while anyone is left.
 */
static int open_event_owners(struct jp_session *session, struct jp_error *err)
{
	struct perf_event_attr attr;

	for (unsigned int i = 0; i < JP_STREAMS * session->nr_cpus; i++) {
		struct jp_ring *ring = &session->rings[i];

		ring->stream = (enum jp_stream)(i / session->nr_cpus);
		ring->cpu = session->cpus[i % session->nr_cpus];
		jp_attr_ring(&attr);
		/* Wake early for sideband: files of short-lived processes are opened then. */
		if (ring->stream == JP_SIDEBAND) {
			attr.watermark = 1;
			attr.wakeup_watermark = WAKE_SIDEBAND;
			if (session->options.sideband_ring &&
			    session->options.sideband_ring < 2 * WAKE_SIDEBAND)
				attr.wakeup_watermark =
					(uint32_t)power_of_two(session->options.sideband_ring) / 2;
		}
		ring->fd = jp_perf_open(&attr, session->drainer_tid, ring->cpu);
		if (ring->fd < 0) {
			char reason[128];
			int error = -ring->fd;

			jp_perf_reason(error, reason, sizeof(reason));
			return jp_fail(err, error, "perf_event_open of the ring of CPU %d: %s",
				       ring->cpu, reason);
		}
	}
	return 0;
}

/* Halves the ring that can best be without; false where both are at their least. Who asked for a
 * size means it. */
static bool shrink(const struct jp_capture_options *options, uint64_t size[JP_STREAMS],
		   uint64_t least)
{
	if (size[JP_SIDEBAND] > SIDEBAND_AMPLE && !options->sideband_ring)
		size[JP_SIDEBAND] /= 2;
	else if (size[JP_SAMPLING] > least && !options->ring)
		size[JP_SAMPLING] /= 2;
	else if (size[JP_SIDEBAND] > SIDEBAND_LEAST && !options->sideband_ring)
		size[JP_SIDEBAND] /= 2;
	else
		return false;
	return true;
}

int jp_rings_open(struct jp_session *session, struct jp_error *err)
{
	uint64_t bytes = sample_size(session), least = power_of_two(2 * bytes);
	uint64_t wanted = bytes * session->options.frequency / STALLS_PER_SECOND;
	uint64_t size[JP_STREAMS] = {0, SIDEBAND_RING};
	long limit = jp_sysctl("perf_event_max_sample_rate", 100000);
	uint64_t rate;
	int ret;

	session->rings = calloc(JP_STREAMS * session->nr_cpus, sizeof(*session->rings));
	if (!session->rings)
		return jp_fail(err, ENOMEM, "no memory for %u rings",
			       JP_STREAMS * session->nr_cpus);
	for (unsigned int i = 0; i < JP_STREAMS * session->nr_cpus; i++)
		session->rings[i].fd = -1;
	ret = open_event_owners(session, err);
	if (ret)
		return ret;

	size[JP_SAMPLING] = power_of_two(session->options.ring ? session->options.ring : wanted);
	if (session->options.sideband_ring)
		size[JP_SIDEBAND] = power_of_two(session->options.sideband_ring);
	if (size[JP_SAMPLING] > LARGEST_RING && !session->options.ring)
		size[JP_SAMPLING] = LARGEST_RING;
	if (size[JP_SAMPLING] < least)
		size[JP_SAMPLING] = least;
	/* EPERM: over RLIMIT_MEMLOCK. Smaller rings first, then a lower rate below. */
	while ((ret = map_rings(session, size)) != 0) {
		const bool scarce = ret == -EPERM || ret == -ENOMEM;
		const bool asked = session->options.ring || session->options.sideband_ring;

		if (!scarce || !shrink(&session->options, size, least))
			return jp_fail(err, scarce && asked ? EOPNOTSUPP : -ret,
				       "mmap of rings of %llu + %llu bytes on %u CPUs: %s "
				       "(RLIMIT_MEMLOCK, kernel.perf_event_mlock_kb=%ld)",
				       (unsigned long long)size[JP_SAMPLING],
				       (unsigned long long)size[JP_SIDEBAND], session->nr_cpus,
				       strerror(-ret), jp_sysctl("perf_event_mlock_kb", 0));
	}
	for (unsigned int i = 0; i < JP_STREAMS * session->nr_cpus; i++) {
		struct epoll_event event = {.events = EPOLLIN, .data.fd = session->rings[i].fd};

		if (epoll_ctl(session->epoll, EPOLL_CTL_ADD, session->rings[i].fd, &event))
			return jp_fail(err, errno, "epoll of a ring: %s", strerror(errno));
	}
	rate = size[JP_SAMPLING] * STALLS_PER_SECOND / bytes;
	if (rate > session->options.frequency)
		rate = session->options.frequency;
	if (rate > (uint64_t)limit)
		rate = (uint64_t)limit;
	session->frequency = rate ? (uint32_t)rate : 1;
	return 0;
}

void jp_rings_close(struct jp_session *session)
{
	if (!session->rings)
		return;
	unmap_rings(session);
	for (unsigned int i = 0; i < JP_STREAMS * session->nr_cpus; i++)
		if (session->rings[i].fd >= 0)
			close(session->rings[i].fd);
	free(session->rings);
	session->rings = NULL;
}

static bool duplicate(struct jp_session *session, enum jp_stream stream, uint64_t id, int32_t tid,
		      uint64_t time)
{
	const struct jp_event_owner *opened = jp_event_owner_find(&session->ids, id);

	if (!opened || opened->owner < 0 || tid <= 0)
		return false;
	if (!jp_event_owner_duplicate(&session->event_owners[stream], tid, opened->owner, time,
				      stream == JP_SAMPLING))
		return false;
	session->duplicates[stream]++;
	return true;
}

static bool keep_sample(struct jp_session *session, const struct jp_perf_record *record)
{
	const struct jp_perf_layout *layout = &session->layout[JP_SAMPLING];
	uint64_t id = jp_perf_record_id(layout, record), time = jp_perf_record_time(layout, record);
	struct jp_event_owner *hit;

	if (record->size < layout->fixed)
		return true;
	if (duplicate(session, JP_SAMPLING, id, (int32_t)jp_perf_record_tid(layout, record), time))
		return false;
	hit = jp_event_owner_find(&session->hits, id);
	if (hit)
		hit->from++;
	if (!session->samples || time < session->first_sample)
		session->first_sample = time;
	if (time > session->last_sample)
		session->last_sample = time;
	session->samples++;
	return true;
}

static void want_elf(struct jp_session *session, const struct jp_event *event)
{
	const struct jp_procmap map = {
		.start = event->map.addr,
		.end = event->map.addr + event->map.len,
		.offset = event->map.pgoff,
		.prot = (uint8_t)event->map.prot,
		.maj = event->map.maj,
		.min = event->map.min,
		.ino = event->map.ino,
		.name = event->map.name,
	};

	jp_elf_copies_want(session->copies, (pid_t)event->pid, &map, event->map.gen);
}

static void note_sideband(struct jp_session *session, const struct jp_event *event)
{
	struct jp_event_owner *birth;
	bool added;

	if (session->backfill && jp_backfill_saw(session->backfill, event))
		session->lost_records[JP_SIDEBAND]++; /* no memory: what follows would be wrong */
	switch (event->type) {
	case JP_EVENT_FORK:
		birth = jp_event_owner_add(&session->fork_times, event->tid, &added);
		if (birth)
			birth->from = event->time;
		break;
	case JP_EVENT_EXIT:
		for (int i = 0; i < JP_STREAMS; i++)
			jp_event_owner_exit(&session->event_owners[i], (int32_t)event->tid,
					    event->time);
		break;
	case JP_EVENT_MAP:
		if (session->copies)
			want_elf(session, event);
		break;
	default:
		break;
	}
}

static bool keep(struct jp_session *session, enum jp_stream stream,
		 const struct jp_perf_record *record)
{
	const struct jp_perf_layout *layout = &session->layout[stream];
	struct jp_event event;

	if (record->type == JP_PERF_RECORD_SAMPLE)
		return keep_sample(session, record);
	/* What cannot be read here is the file's reader's to complain of. */
	if (jp_perf_decode(layout, record, &event, NULL))
		return true;
	switch (event.type) {
	case JP_EVENT_MAP:
	case JP_EVENT_COMM:
	case JP_EVENT_FORK:
	case JP_EVENT_EXIT:
		if (duplicate(session, JP_SIDEBAND, event.id,
			      (int32_t)jp_perf_record_tid(layout, record), event.time))
			return false;
		note_sideband(session, &event);
		return true;
	case JP_EVENT_LOST:
		session->lost_records[stream] += event.lost.lost;
		return true;
	default:
		return true;
	}
}

/* Appends the bytes [@from, @to) of the ring's endless stream. */
static void put_span(struct jp_session *session, const unsigned char *data, uint64_t mask,
		     uint64_t from, uint64_t to)
{
	uint64_t start = from & mask, size = to - from, first = mask + 1 - start;

	if (first > size)
		first = size;
	jp_perfdata_put(session->writer, data + start, first);
	if (size > first)
		jp_perfdata_put(session->writer, data, size - first);
}

/*
 * Kernels 6.1 to 7.1 leave MMAP_BUILD_ID set in a record of ours when they wrote it for another
 * profiler's event first, one that asks for build ids (perf does so by default since 6.18). Ours do
 * not: the record holds an inode, which perf 6.1 and 6.12 take for a build id of, say, 254 bytes,
 * and abort. Until the tail moves on the ring is ours to write to.
 */
static void repair(struct jp_perf_record *record)
{
	if (record->type == JP_PERF_RECORD_MMAP2 && record->misc & JP_PERF_MISC_MMAP_BUILD_ID)
		record->misc &= (uint16_t)~JP_PERF_MISC_MMAP_BUILD_ID;
}

static bool drain(struct jp_session *session, struct jp_ring *ring)
{
	struct perf_event_mmap_page *page = (void *)ring->base;
	unsigned char *data = ring->base + page->data_offset;
	uint64_t mask = ring->size - 1, tail = page->data_tail, kept = tail;
	bool any = tail != ring->head;
	unsigned char whole[LARGEST_RECORD] __attribute__((aligned(8)));

	while (tail != ring->head) {
		/* Records are multiples of 8 bytes long: a header never wraps. */
		struct jp_perf_record *record = (void *)(data + (tail & mask));
		size_t size = record->size, first = ring->size - (tail & mask);

		if (size < sizeof(*record) || size > ring->head - tail) {
			/* Nothing can be found behind this; only a broken kernel does it. */
			session->lost_records[ring->stream]++;
			tail = ring->head;
			kept = tail;
			break;
		}
		repair(record);
		if (first < size) {
			memcpy(whole, record, first);
			memcpy(whole + first, data, size - first);
			record = (void *)whole;
		}
		if (!keep(session, ring->stream, record)) {
			put_span(session, data, mask, kept, tail);
			kept = tail + size;
		}
		tail += size;
	}
	put_span(session, data, mask, kept, tail);
	__atomic_store_n(&page->data_tail, tail, __ATOMIC_RELEASE);
	return any;
}

static void look(struct jp_session *session, enum jp_stream stream)
{
	for (unsigned int i = 0; i < session->nr_cpus; i++) {
		struct jp_ring *ring = &session->rings[stream * session->nr_cpus + i];

		ring->head = __atomic_load_n(
			&((struct perf_event_mmap_page *)(void *)ring->base)->data_head,
			__ATOMIC_ACQUIRE);
	}
}

bool jp_rings_drain(struct jp_session *session)
{
	bool any = false;

	/* How far samples go is read before sideband is, so that a thread's birth and end are known
	 * before its samples are looked at. */
	look(session, JP_SAMPLING);
	look(session, JP_SIDEBAND);
	for (unsigned int i = 0; i < session->nr_cpus; i++)
		any |= drain(session, &session->rings[JP_SIDEBAND * session->nr_cpus + i]);
	for (unsigned int i = 0; i < session->nr_cpus; i++)
		any |= drain(session, &session->rings[JP_SAMPLING * session->nr_cpus + i]);
	return any;
}
