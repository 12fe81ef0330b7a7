// SPDX-License-Identifier: GPL-2.0-only
#include "harness/capture/received.h"

#include "harness/capture/elf_copies.h"
#include "harness/capture/event_owners.h"
#include "harness/capture/recorder.h"
#include "harness/capture/session.h"
#include "harness/format/procmaps/procmaps.h"

void jp_received_free(struct jp_received *records)
{
	jp_map_free(&records->ids);
	jp_map_free(&records->fork_times);
	for (int i = 0; i < JP_STREAMS; i++)
		jp_map_free(&records->owners[i]);
}

static bool note_duplicate(struct jp_received *records, enum jp_stream stream, uint64_t id,
			   int32_t tid, uint64_t time)
{
	const struct jp_opened_for *opened = jp_map_find(&records->ids, id);

	if (!opened || opened->tid < 0 || tid <= 0 ||
	    !jp_event_owner_is_duplicate(&records->owners[stream], tid, opened->tid, time,
					 stream == JP_SAMPLING))
		return false;
	records->duplicates[stream]++;
	return true;
}

/* Returns whether another event already reported this exit, and notes that it was reported. All
 * events of a thread report its exit, a microsecond apart. */
static bool note_repeated_exit(struct jp_received *records, const struct jp_event *event)
{
	const struct jp_opened_for *opened = jp_map_find(&records->ids, event->id);
	const uint64_t *forked = jp_map_find(&records->fork_times, event->tid);

	if (event->type != JP_EVENT_EXIT || !opened || opened->tid < 0 ||
	    !jp_event_owner_has_ended(&records->owners[JP_SIDEBAND], (int32_t)event->tid,
				      opened->tid, forked ? *forked : 0))
		return false;
	records->duplicates[JP_SIDEBAND]++;
	return true;
}

static bool keep_sample(struct jp_session *session, const struct jp_perf_record *record)
{
	const struct jp_perf_layout *layout = &session->recorder->layout[JP_SAMPLING];
	struct jp_received *records = &session->recorder->received;
	uint64_t id = jp_perf_record_id(layout, record), time = jp_perf_record_time(layout, record);

	if (record->size < layout->fixed)
		return true;
	if (note_duplicate(records, JP_SAMPLING, id, (int32_t)jp_perf_record_tid(layout, record),
			   time))
		return false;
	if (records->observer.sample)
		records->observer.sample(records->observer.context, id);
	if (!session->samples || time < records->first_sample)
		records->first_sample = time;
	if (time > records->last_sample)
		records->last_sample = time;
	session->samples++;
	session->early += !session->info.sampling || time < session->info.sampling;
	return true;
}

static void queue_copy(struct jp_session *session, const struct jp_event *event)
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

	jp_elf_copies_request(session->copies, (pid_t)event->pid, &map, event->map.gen);
}

static void note_sideband(struct jp_session *session, const struct jp_event *event)
{
	struct jp_received *records = &session->recorder->received;
	const struct jp_observer *observer = &records->observer;
	uint64_t *forked;

	/* If memory is short, the observer misses this event, which is as bad as a lost record. */
	if (observer->sideband && observer->sideband(observer->context, event))
		records->lost[JP_SIDEBAND]++;
	switch (event->type) {
	case JP_EVENT_FORK:
		forked = jp_map_at(&records->fork_times, event->tid, sizeof(*forked));
		if (forked)
			*forked = event->time;
		break;
	case JP_EVENT_EXIT:
		for (int i = 0; i < JP_STREAMS; i++)
			jp_event_owner_exit(&records->owners[i], (int32_t)event->tid, event->time);
		break;
	case JP_EVENT_MAP:
		if (session->copies)
			queue_copy(session, event);
		break;
	default:
		break;
	}
}

static bool keep_record(struct jp_session *session, enum jp_stream stream,
			const struct jp_perf_record *record)
{
	const struct jp_perf_layout *layout = &session->recorder->layout[stream];
	struct jp_received *records = &session->recorder->received;
	struct jp_event event;

	if (record->type == JP_PERF_RECORD_SAMPLE)
		return keep_sample(session, record);
	/* Keep undecodable records: the reader of the file reports them. */
	if (jp_perf_decode(layout, record, &event, NULL))
		return true;
	switch (event.type) {
	case JP_EVENT_MAP:
	case JP_EVENT_COMM:
	case JP_EVENT_FORK:
	case JP_EVENT_EXIT:
		if (note_repeated_exit(records, &event) ||
		    note_duplicate(records, JP_SIDEBAND, event.id,
				   (int32_t)jp_perf_record_tid(layout, record), event.time))
			return false;
		note_sideband(session, &event);
		return true;
	case JP_EVENT_LOST:
		records->lost[stream] += event.lost.lost;
		return true;
	default:
		return true;
	}
}

/* Writes the bytes [@from, @to) of the ring to the file; positions count all bytes ever written to
 * the ring. */
static void put_span(struct jp_perfdata_writer *writer, const struct jp_perf_ring *ring,
		     uint64_t from, uint64_t to)
{
	uint64_t size = to - from, first = ring->size - (from & (ring->size - 1));

	if (first > size)
		first = size;
	jp_perfdata_put(writer, jp_perf_ring_address(ring, from), first);
	jp_perfdata_put(writer, ring->data, size - first);
}

/*
 * Returns whether a record has a wrong build-id bit. Kernels 6.1 to 7.1 leave MMAP_BUILD_ID set in
 * our record if they first wrote it for another profiler's event with build ids (perf's default
 * since 6.18). Our record has an inode, which perf 6.1 and 6.12 would read as a build id of, say,
 * 254 bytes, and abort.
 */
static bool has_wrong_build_id_bit(const struct jp_perf_record *record)
{
	return record->type == JP_PERF_RECORD_MMAP2 && record->misc & JP_PERF_MISC_MMAP_BUILD_ID;
}

/* Writes a copy of @record without the wrong bit. It cannot be corrected in the ring, because a
 * write to the ring's data causes SIGBUS (perf_mmap_fault(), since 6.14 perf_mmap_pfn_mkwrite(), in
 * kernel/events/core.c). */
static void keep_without_build_id_bit(struct jp_session *session, enum jp_stream stream,
				      const struct jp_perf_record *record)
{
	uint64_t copy[JP_PERF_RECORD_MOST / sizeof(uint64_t)];
	struct jp_perf_record *mended = (void *)copy;

	memcpy(copy, record, record->size);
	mended->misc &= (uint16_t)~JP_PERF_MISC_MMAP_BUILD_ID;
	if (keep_record(session, stream, mended))
		jp_perfdata_put(session->recorder->writer, mended, mended->size);
}

static bool drain_ring(struct jp_session *session, struct jp_ring *ring)
{
	struct jp_recorder *recorder = session->recorder;
	struct jp_perf_ring *records = &ring->records;
	uint64_t buffer[JP_PERF_RECORD_MOST / sizeof(uint64_t)], stored = records->tail;
	bool has_records = records->tail != records->head;

	while (records->tail != records->head) {
		const uint64_t start = records->tail;
		const struct jp_perf_record *record = jp_perf_ring_next(records, buffer);
		const bool is_spoilt = record && has_wrong_build_id_bit(record);

		if (record && !is_spoilt && keep_record(session, ring->stream, record))
			continue;
		put_span(recorder->writer, records, stored, start);
		if (is_spoilt)
			keep_without_build_id_bit(session, ring->stream, record);
		if (!record) {
			recorder->received.lost[ring->stream]++;
			records->tail = records->head;
		}
		stored = records->tail;
	}
	put_span(recorder->writer, records, stored, records->tail);
	jp_perf_ring_release(records);
	return has_records;
}

static void update_heads(struct jp_session *session, enum jp_stream stream)
{
	for (unsigned int i = 0; i < session->nr_cpus; i++)
		jp_perf_ring_load_head(
			&session->recorder->rings[stream * session->nr_cpus + i].records);
}

bool jp_received_drain(struct jp_session *session)
{
	struct jp_ring *rings = session->recorder->rings;
	bool has_records = false;

	/* Read the heads of the sample rings before those of the sideband rings, so that the
	 * sideband records that precede a sample are always handled before it. */
	update_heads(session, JP_SAMPLING);
	update_heads(session, JP_SIDEBAND);
	for (unsigned int i = 0; i < session->nr_cpus; i++)
		has_records |= drain_ring(session, &rings[JP_SIDEBAND * session->nr_cpus + i]);
	for (unsigned int i = 0; i < session->nr_cpus; i++)
		has_records |= drain_ring(session, &rings[JP_SAMPLING * session->nr_cpus + i]);
	return has_records;
}
