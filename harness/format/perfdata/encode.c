// SPDX-License-Identifier: GPL-2.0-only
#include "harness/format/perfdata/encode.h"

#include <limits.h>
#include <string.h>
#include <sys/mman.h>

/* The buffer for the record that is being written. Bytes beyond its capacity are not written, but
 * counted in @used. */
struct space {
	unsigned char *bytes;
	size_t used, capacity;
};

static void put_bytes(struct space *space, const void *bytes, size_t size)
{
	if (space->used <= space->capacity && size <= space->capacity - space->used && size)
		memcpy(space->bytes + space->used, bytes, size);
	space->used += size;
}

static void put64(struct space *space, uint64_t value)
{
	put_bytes(space, &value, sizeof(value));
}

static void put32(struct space *space, uint32_t low, uint32_t high)
{
	const uint32_t both[2] = {low, high};

	put_bytes(space, both, sizeof(both));
}

/* Appends @name with at least one NUL, padded to a multiple of 8. */
static void put_name(struct space *space, const char *name)
{
	static const char zeros[8];
	size_t size = strnlen(name, PATH_MAX - 1);

	put_bytes(space, name, size);
	put_bytes(space, zeros, sizeof(zeros) - size % sizeof(zeros));
}

static uint16_t put_map(struct space *space, const struct jp_event *event, bool is_mmap2)
{
	unsigned char build_id[24] = {0};
	uint16_t misc = event->map.prot & PROT_EXEC ? 0 : JP_PERF_MISC_MMAP_DATA;

	put32(space, event->pid, event->tid);
	put64(space, event->map.addr);
	put64(space, event->map.len);
	put64(space, event->map.pgoff);
	if (is_mmap2 && event->map.build_id) {
		build_id[0] = (unsigned char)event->map.build_id_size;
		memcpy(build_id + 4, event->map.build_id, build_id[0]);
		put_bytes(space, build_id, sizeof(build_id));
		misc |= JP_PERF_MISC_MMAP_BUILD_ID;
	} else if (is_mmap2) {
		put32(space, event->map.maj, event->map.min);
		put64(space, event->map.ino);
		put64(space, event->map.gen);
	}
	if (is_mmap2)
		put32(space, event->map.prot, event->map.flags);
	put_name(space, event->map.name);
	return misc;
}

static void put_task(struct space *space, const struct jp_event *event)
{
	put32(space, event->pid, event->task.ppid);
	put32(space, event->tid, event->task.ptid);
	put64(space, event->task.time);
}

static void put_regs(struct space *space, const struct jp_perf_layout *layout,
		     const struct jp_event *event)
{
	const struct jp_machine *machine = layout->machine;

	put64(space, event->sample.regs_abi);
	for (uint64_t mask = event->sample.regs_abi ? layout->regs_mask : 0; mask;
	     mask &= mask - 1) {
		unsigned int bit = __builtin_ctzll(mask);
		bool has_register = event->sample.regs && machine && bit < machine->nr_registers &&
				    machine->registers[bit].number >= 0;

		put64(space,
		      has_register ? event->sample.regs->r[machine->registers[bit].number] : 0);
	}
}

static void put_stack(struct space *space, const struct jp_event *event)
{
	static const unsigned char zeros[64];
	uint64_t size = event->sample.stack ? event->sample.stack_asked : 0;

	put64(space, size);
	if (!size)
		return;
	put_bytes(space, event->sample.stack, event->sample.stack_size);
	for (uint64_t remaining = size - event->sample.stack_size, nr_stored; remaining;
	     remaining -= nr_stored) {
		nr_stored = remaining < sizeof(zeros) ? remaining : sizeof(zeros);
		put_bytes(space, zeros, nr_stored);
	}
	put64(space, event->sample.stack_size);
}

/* Appends the fields that samples and sample ids have in the same order. */
static void put_ids(struct space *space, uint64_t type, uint32_t pid, uint32_t tid,
		    const struct jp_event *event)
{
	if (type & JP_PERF_SAMPLE_TID)
		put32(space, pid, tid);
	if (type & JP_PERF_SAMPLE_TIME)
		put64(space, event->time);
	if (type & JP_PERF_SAMPLE_ID)
		put64(space, event->id);
	if (type & JP_PERF_SAMPLE_STREAM_ID)
		put64(space, event->id);
	if (type & JP_PERF_SAMPLE_CPU)
		put32(space, event->cpu, 0);
}

/* Returns false if the sample has parts that struct jp_event cannot hold. */
static bool put_sample(struct space *space, const struct jp_perf_layout *layout,
		       const struct jp_event *event)
{
	const uint64_t type = layout->sample_type;

	if (type & (JP_PERF_SAMPLE_READ | JP_PERF_SAMPLE_ADDR | JP_PERF_SAMPLE_RAW |
		    JP_PERF_SAMPLE_BRANCH_STACK))
		return false;
	if (type & JP_PERF_SAMPLE_IDENTIFIER)
		put64(space, event->id);
	if (type & JP_PERF_SAMPLE_IP)
		put64(space, event->sample.ip);
	put_ids(space, type, event->pid, event->tid, event);
	if (type & JP_PERF_SAMPLE_PERIOD)
		put64(space, event->sample.period);
	if (type & JP_PERF_SAMPLE_CALLCHAIN) {
		put64(space, event->sample.nr_chain);
		put_bytes(space, event->sample.chain, event->sample.nr_chain * sizeof(uint64_t));
	}
	if (type & JP_PERF_SAMPLE_REGS_USER)
		put_regs(space, layout, event);
	if (type & JP_PERF_SAMPLE_STACK_USER)
		put_stack(space, event);
	return true;
}

/* Appends the sample id of a record that is no sample. */
static void put_trailer(struct space *space, const struct jp_perf_layout *layout,
			const struct jp_event *event)
{
	const uint64_t type = layout->sample_type;
	const bool is_fork = event->type == JP_EVENT_FORK;

	if (!layout->trailer)
		return;
	put_ids(space, type, is_fork ? event->task.ppid : event->pid,
		is_fork ? event->task.ptid : event->tid, event);
	if (type & JP_PERF_SAMPLE_IDENTIFIER)
		put64(space, event->id);
}

/* Appends the fields between the header and the sample id. Returns false for events that cannot be
 * encoded. */
static bool put_record_fields(struct space *space, const struct jp_event *event,
			      struct jp_perf_record *header)
{
	switch (event->type) {
	case JP_EVENT_MAP:
		header->type = event->record_type == JP_PERF_RECORD_MMAP ? JP_PERF_RECORD_MMAP
									 : JP_PERF_RECORD_MMAP2;
		header->misc |= put_map(space, event, header->type == JP_PERF_RECORD_MMAP2);
		return true;
	case JP_EVENT_COMM:
		header->type = JP_PERF_RECORD_COMM;
		header->misc |= event->comm.exec ? JP_PERF_MISC_COMM_EXEC : 0;
		put32(space, event->pid, event->tid);
		put_name(space, event->comm.name);
		return true;
	case JP_EVENT_FORK:
	case JP_EVENT_EXIT:
		header->type =
			event->type == JP_EVENT_FORK ? JP_PERF_RECORD_FORK : JP_PERF_RECORD_EXIT;
		put_task(space, event);
		return true;
	case JP_EVENT_LOST:
		header->type = JP_PERF_RECORD_LOST;
		put64(space, event->id);
		put64(space, event->lost.lost);
		return true;
	case JP_EVENT_LOST_SAMPLES:
		header->type = JP_PERF_RECORD_LOST_SAMPLES;
		put64(space, event->lost.lost);
		return true;
	case JP_EVENT_THROTTLE:
		header->type = JP_PERF_RECORD_THROTTLE;
		put64(space, event->time);
		put64(space, event->id);
		put64(space, event->id);
		return true;
	case JP_EVENT_DEFERRED:
		header->type = JP_PERF_RECORD_CALLCHAIN_DEFERRED;
		put64(space, event->deferred.cookie);
		put64(space, event->deferred.count);
		put_bytes(space, event->deferred.ips, event->deferred.count * sizeof(uint64_t));
		return true;
	default:
		return false;
	}
}

size_t jp_perf_encode(const struct jp_perf_layout *layout, const struct jp_event *event,
		      void *record, size_t capacity)
{
	struct jp_perf_record header = {.type = JP_PERF_RECORD_SAMPLE, .misc = event->misc};
	struct space space = {
		.bytes = record,
		.used = sizeof(header),
		.capacity = capacity < JP_PERF_RECORD_MOST ? capacity : JP_PERF_RECORD_MOST,
	};

	if (event->type == JP_EVENT_SAMPLE) {
		if (!put_sample(&space, layout, event))
			return 0;
	} else {
		if (!put_record_fields(&space, event, &header))
			return 0;
		put_trailer(&space, layout, event);
	}
	if (space.used > space.capacity)
		return 0;
	header.size = (uint16_t)space.used;
	memcpy(record, &header, sizeof(header));
	return space.used;
}

void jp_perf_encode_range(void *record, uint64_t addr, uint64_t len, uint64_t pgoff)
{
	const uint64_t range[3] = {addr, len, pgoff};

	memcpy((unsigned char *)record + 16, range, sizeof(range));
}
