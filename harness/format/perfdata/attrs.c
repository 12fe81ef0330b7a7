// SPDX-License-Identifier: GPL-2.0-only
#include "harness/format/perfdata/attrs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/array.h"
#include "harness/format/event.h"
#include "harness/format/perfdata/swap.h"

enum { MAX_ATTRS = 65535 /* largest index that jp_pending.attr can hold */ };

bool jp_perf_is_monotonic(const struct jp_perf_attr *attr)
{
	return attr->flags & JP_PERF_ATTR_USE_CLOCKID && attr->clockid == JP_PERF_CLOCK_MONOTONIC;
}

static enum jp_clock get_clock(const struct jp_perf_attr *attr)
{
	if (attr->type == JP_PERF_TYPE_BREAKPOINT && !attr->config)
		return JP_CLOCK_BREAKPOINT;
	if (attr->type != JP_PERF_TYPE_SOFTWARE || attr->config > JP_PERF_SW_TASK_CLOCK)
		return JP_CLOCK_NONE;
	return attr->config == JP_PERF_SW_TASK_CLOCK ? JP_CLOCK_TASK : JP_CLOCK_CPU;
}

/* Returns the period that every sample of the event has, or 0 if it varies. The period of a clock
 * follows from its frequency (perf_swevent_init_hrtimer(), kernel/events/core.c); that of a counter
 * follows the load. */
static uint64_t get_period(const struct jp_perf_attr *attr)
{
	if (!(attr->sample_type & JP_PERF_SAMPLE_PERIOD) || !attr->sample_period)
		return 0;
	if (!(attr->flags & JP_PERF_ATTR_FREQ))
		return attr->sample_period;
	return get_clock(attr) == JP_CLOCK_CPU || get_clock(attr) == JP_CLOCK_TASK
		       ? UINT64_C(1000000000) / attr->sample_period
		       : 0;
}

/* Returns a mask of the record types that the kernel writes for an event: some types always, others
 * if the event has one of certain flags (perf_event_mmap_match() and similar,
 * kernel/events/core.c). */
static uint32_t get_records(const struct jp_perf_attr *attr)
{
	static const struct {
		uint64_t flags;
		uint32_t records;
	} given[] = {
		{JP_PERF_ATTR_MMAP | JP_PERF_ATTR_MMAP_DATA, 1 << JP_PERF_RECORD_MMAP},
		{JP_PERF_ATTR_MMAP2, 1 << JP_PERF_RECORD_MMAP2},
		{JP_PERF_ATTR_COMM, 1 << JP_PERF_RECORD_COMM},
		{JP_PERF_ATTR_MMAP | JP_PERF_ATTR_MMAP2 | JP_PERF_ATTR_MMAP_DATA |
			 JP_PERF_ATTR_COMM | JP_PERF_ATTR_TASK,
		 1 << JP_PERF_RECORD_FORK | 1 << JP_PERF_RECORD_EXIT},
		{JP_PERF_ATTR_INHERIT_STAT, 1 << JP_PERF_RECORD_READ},
		{JP_PERF_ATTR_CONTEXT_SWITCH,
		 1 << JP_PERF_RECORD_SWITCH | 1 << JP_PERF_RECORD_SWITCH_CPU_WIDE},
		{JP_PERF_ATTR_NAMESPACES, 1 << JP_PERF_RECORD_NAMESPACES},
		{JP_PERF_ATTR_KSYMBOL, 1 << JP_PERF_RECORD_KSYMBOL},
		{JP_PERF_ATTR_BPF_EVENT, 1 << JP_PERF_RECORD_BPF_EVENT},
		{JP_PERF_ATTR_CGROUP, 1 << JP_PERF_RECORD_CGROUP},
		{JP_PERF_ATTR_TEXT_POKE, 1 << JP_PERF_RECORD_TEXT_POKE},
		{JP_PERF_ATTR_DEFER_OUTPUT, 1 << JP_PERF_RECORD_CALLCHAIN_DEFERRED},
	};
	uint32_t records = 1 << JP_PERF_RECORD_SAMPLE | 1 << JP_PERF_RECORD_LOST |
			   1 << JP_PERF_RECORD_LOST_SAMPLES | 1 << JP_PERF_RECORD_THROTTLE |
			   1 << JP_PERF_RECORD_UNTHROTTLE;

	for (size_t i = 0; i < sizeof(given) / sizeof(*given); i++)
		records |= attr->flags & given[i].flags ? given[i].records : 0;
	/* perf_event_mmap_output() writes either MMAP or MMAP2. */
	if (attr->flags & JP_PERF_ATTR_MMAP2)
		records &= ~(1 << JP_PERF_RECORD_MMAP);
	if (attr->type >= JP_PERF_TYPES)
		records |= 1 << JP_PERF_RECORD_AUX | 1 << JP_PERF_RECORD_ITRACE_START |
			   1 << JP_PERF_RECORD_AUX_OUTPUT_HW_ID;
	return records;
}

static struct jp_event_asked describe_request(const struct jp_perf_attr *attr)
{
	const uint64_t sideband =
		JP_PERF_ATTR_MMAP | JP_PERF_ATTR_MMAP2 | JP_PERF_ATTR_COMM | JP_PERF_ATTR_TASK;
	const uint64_t type = attr->sample_type, flags = attr->flags;

	return (struct jp_event_asked){
		.regs = type & JP_PERF_SAMPLE_REGS_USER ? attr->sample_regs_user : 0,
		.stack = type & JP_PERF_SAMPLE_STACK_USER ? attr->sample_stack_user : 0,
		.max_stack = type & JP_PERF_SAMPLE_CALLCHAIN ? attr->sample_max_stack : 0,
		.period = get_period(attr),
		.clock = get_clock(attr),
		.sideband = flags & sideband,
		.data = flags & JP_PERF_ATTR_MMAP_DATA,
		.chain = type & JP_PERF_SAMPLE_CALLCHAIN,
		.user_chain = type & JP_PERF_SAMPLE_CALLCHAIN &&
			      !(flags & JP_PERF_ATTR_EXCLUDE_CALLCHAIN_USER),
		.kernel_chain = type & JP_PERF_SAMPLE_CALLCHAIN &&
				!(flags & JP_PERF_ATTR_EXCLUDE_CALLCHAIN_KERNEL),
		.user = !(flags & JP_PERF_ATTR_EXCLUDE_USER),
		.kernel = !(flags & JP_PERF_ATTR_EXCLUDE_KERNEL),
		.timed = type & JP_PERF_SAMPLE_TIME && flags & JP_PERF_ATTR_SAMPLE_ID_ALL &&
			 jp_perf_is_monotonic(attr),
		.threads = type & JP_PERF_SAMPLE_TID,
		.ids = type & (JP_PERF_SAMPLE_IDENTIFIER | JP_PERF_SAMPLE_ID),
		.cpus = type & JP_PERF_SAMPLE_CPU,
		.inherit = flags & JP_PERF_ATTR_INHERIT,
		.at_code = attr->type == JP_PERF_TYPE_TRACEPOINT ||
			   (attr->type == JP_PERF_TYPE_BREAKPOINT &&
			    attr->bp_type == JP_PERF_BREAKPOINT_X),
		.records = get_records(attr),
	};
}

const char *jp_perf_attrs_add(struct jp_perf_attrs *attrs, const void *bytes, size_t size,
			      const void *ids, size_t nr_ids)
{
	struct jp_perf_attr_entry *entry;

	if (attrs->count >= MAX_ATTRS)
		return "at most 65535 attrs";
	if (size < JP_PERF_ATTR_SIZE_0)
		return "an attr of at least 64 bytes";
	entry = jp_array_push(&attrs->list, &attrs->count, &attrs->capacity);
	if (!entry)
		return "memory";
	/* Ignore the tail of a longer attr of a newer perf: no known field depends on it. */
	memcpy(&entry->attr, bytes, size < sizeof(entry->attr) ? size : sizeof(entry->attr));
	if (attrs->swapped)
		jp_perf_swap_attr(&entry->attr);
	jp_perf_compute_layout(&entry->attr, attrs->e_machine, &entry->layout);
	entry->request = describe_request(&entry->attr);
	if (memcmp(&entry->layout, &attrs->list[0].layout, sizeof(entry->layout)) != 0)
		attrs->layouts_differ = true;
	for (size_t i = 0; i < nr_ids; i++) {
		uint64_t word = jp_load64((const unsigned char *)ids + i * sizeof(word));
		uint64_t id = attrs->swapped ? __builtin_bswap64(word) : word;
		size_t *attr = id ? jp_map_at(&attrs->by_id, id, sizeof(*attr)) : NULL;

		if (id && !attr)
			return "memory";
		if (attr)
			*attr = attrs->count - 1;
	}
	return NULL;
}

void jp_perf_attrs_set_machine(struct jp_perf_attrs *attrs, uint32_t e_machine)
{
	/* Either all attrs already have this machine, or no feature of the file names a machine and
	 * each attr guesses its own. */
	if (attrs->e_machine == e_machine)
		return;
	attrs->e_machine = e_machine;
	for (size_t i = 0; i < attrs->count; i++)
		attrs->list[i].layout.machine = jp_machine_find(e_machine);
}

/* Returns the index of the attr of a record whose id is unknown, or -1. An unfinished file may lack
 * ids. Its samples then belong to the only event that is no dummy event; other records can be read
 * if their sample ids have the same layout for all attrs. */
static int64_t find_attr_without_id(const struct jp_perf_attrs *attrs,
				    const struct jp_perf_record *record)
{
	const uint64_t trailer = JP_PERF_SAMPLE_TID | JP_PERF_SAMPLE_TIME | JP_PERF_SAMPLE_ID |
				 JP_PERF_SAMPLE_STREAM_ID | JP_PERF_SAMPLE_CPU |
				 JP_PERF_SAMPLE_IDENTIFIER;
	int64_t sampling = -1;

	if (attrs->by_id.count && !attrs->ids_missing)
		return -1;
	for (size_t i = 0; i < attrs->count; i++) {
		const struct jp_perf_attr *attr = &attrs->list[i].attr,
					  *first = &attrs->list[0].attr;
		bool is_dummy =
			attr->type == JP_PERF_TYPE_SOFTWARE && attr->config == JP_PERF_SW_DUMMY;

		if ((attr->sample_type ^ first->sample_type) & trailer ||
		    (attr->flags ^ first->flags) & JP_PERF_ATTR_SAMPLE_ID_ALL)
			return -1;
		if (!is_dummy && sampling >= 0)
			return -1;
		sampling = is_dummy ? sampling : (int64_t)i;
	}
	return record->type == JP_PERF_RECORD_SAMPLE ? sampling : 0;
}

int64_t jp_perf_attrs_find(struct jp_perf_attrs *attrs, const struct jp_perf_record *record)
{
	const struct jp_perf_layout *first;
	const size_t *attr;
	uint64_t id;

	if (!attrs->count)
		return -1;
	first = &attrs->list[0].layout;
	/* perf writes the id at the same place for all attrs of a file, so use the first layout. */
	if (record->type == JP_PERF_RECORD_SAMPLE ? !first->id : !first->end_id)
		return attrs->layouts_differ && record->type == JP_PERF_RECORD_SAMPLE ? -1 : 0;
	id = jp_perf_record_id(first, record);
	if (!id) /* perf synthesized the record, which belongs to no event */
		return 0;
	if (id != attrs->last_id) {
		attr = jp_map_find(&attrs->by_id, id);
		if (!attr && !attrs->layouts_differ)
			attrs->unknown_ids += attrs->by_id.count > 0;
		if (!attr)
			return attrs->layouts_differ ? find_attr_without_id(attrs, record) : 0;
		attrs->last_id = id;
		attrs->last_index = *attr;
	}
	return (int64_t)attrs->last_index;
}

void jp_perf_attrs_free(struct jp_perf_attrs *attrs)
{
	free(attrs->list);
	jp_map_free(&attrs->by_id);
	*attrs = (struct jp_perf_attrs){0};
}

/* The unread rest of a feature. Sizes in it are untrusted. */
struct feature_rest {
	const unsigned char *pos;
	uint64_t size;
};

static const unsigned char *take_bytes(struct feature_rest *remaining_bytes, uint64_t size)
{
	const unsigned char *pos = remaining_bytes->pos;

	if (size > remaining_bytes->size)
		return NULL;
	remaining_bytes->pos += size;
	remaining_bytes->size -= size;
	return pos;
}

static bool read_word(bool is_swapped, struct feature_rest *remaining_bytes, uint32_t *word)
{
	const unsigned char *pos = take_bytes(remaining_bytes, sizeof(*word));

	if (!pos)
		return false;
	memcpy(word, pos, sizeof(*word));
	*word = is_swapped ? __builtin_bswap32(*word) : *word;
	return true;
}

/* Returns whether @bytes contain @attr. The wakeup setting, which affects no record, and the size,
 * which depends on the writer, may differ. */
static bool is_same_attr(const struct jp_perf_attrs *attrs, const unsigned char *bytes,
			 uint32_t size, const struct jp_perf_attr *attr)
{
	struct jp_perf_attr described = {0}, attr_copy = *attr;

	memcpy(&described, bytes, size < sizeof(described) ? size : sizeof(described));
	if (attrs->swapped)
		jp_perf_swap_attr(&described);
	described.size = attr_copy.size;
	described.wakeup_events = attr_copy.wakeup_events;
	return memcmp(&described, &attr_copy, sizeof(attr_copy)) == 0;
}

/* Returns whether @name is the name that this project's captures, like perf, give the event: with
 * ":u" if no event samples the kernel. */
static bool is_own_name(const struct jp_perf_attrs *attrs, const char *name, uint32_t size,
			const struct jp_perf_attr *attr)
{
	static const char *const software[] = {[JP_PERF_SW_CPU_CLOCK] = "cpu-clock",
					       [JP_PERF_SW_TASK_CLOCK] = "task-clock",
					       [JP_PERF_SW_DUMMY] = "dummy"};
	const bool is_user = attrs->list[0].attr.flags & JP_PERF_ATTR_EXCLUDE_KERNEL;
	const char *event_name =
		attr->type == JP_PERF_TYPE_BREAKPOINT ? "breakpoint"
		: attr->type == JP_PERF_TYPE_SOFTWARE && attr->config <= JP_PERF_SW_DUMMY
			? software[attr->config]
			: NULL;
	char expected[32];

	snprintf(expected, sizeof(expected), "%s%s", event_name ?: "", is_user ? ":u" : "");
	return event_name && strnlen(name, size) < size && strcmp(name, expected) == 0;
}

enum jp_described jp_perf_compare_event_desc(const struct jp_perf_attrs *attrs,
					     const unsigned char *bytes, uint64_t size)
{
	struct feature_rest remaining_bytes = {bytes, size};
	enum jp_described difference = JP_DESCRIBED_ALIKE;
	uint32_t count, attr_index, ids, length;

	if (!read_word(attrs->swapped, &remaining_bytes, &count) ||
	    !read_word(attrs->swapped, &remaining_bytes, &attr_index) || count != attrs->count)
		return JP_DESCRIBED_OTHER;
	for (uint32_t i = 0; i < count; i++) {
		const struct jp_perf_attr *attr = &attrs->list[i].attr;
		const unsigned char *own_attr = take_bytes(&remaining_bytes, attr_index), *name;

		if (!own_attr || !is_same_attr(attrs, own_attr, attr_index, attr) ||
		    !read_word(attrs->swapped, &remaining_bytes, &ids) ||
		    !read_word(attrs->swapped, &remaining_bytes, &length))
			return JP_DESCRIBED_OTHER;
		name = take_bytes(&remaining_bytes, length);
		if (!name || !take_bytes(&remaining_bytes, ids * sizeof(uint64_t)))
			return JP_DESCRIBED_OTHER;
		if (!is_own_name(attrs, (const char *)name, length, attr))
			difference = JP_DESCRIBED_OTHER_NAME;
	}
	return remaining_bytes.size ? JP_DESCRIBED_OTHER : difference;
}

enum { LENGTH = 8 /* bytes of an execution breakpoint on x86 */ };

static void set_sampling(struct jp_perf_attr *own_attr, const struct jp_perf_attr *attr)
{
	const uint64_t deferred = JP_PERF_ATTR_DEFER_CALLCHAIN | JP_PERF_ATTR_DEFER_OUTPUT;

	own_attr->sample_type |=
		JP_PERF_SAMPLE_PERIOD | JP_PERF_SAMPLE_REGS_USER |
		(attr->sample_type & (JP_PERF_SAMPLE_CALLCHAIN | JP_PERF_SAMPLE_STACK_USER));
	own_attr->sample_regs_user = attr->sample_regs_user;
	own_attr->sample_stack_user = attr->sample_stack_user;
	if (!(own_attr->sample_type & JP_PERF_SAMPLE_CALLCHAIN))
		return;
	if (attr->sample_max_stack == JP_USUAL_MAX_STACK)
		own_attr->sample_max_stack = JP_USUAL_MAX_STACK;
	if (own_attr->flags & JP_PERF_ATTR_EXCLUDE_KERNEL)
		own_attr->flags |= JP_PERF_ATTR_EXCLUDE_CALLCHAIN_KERNEL;
	if (attr->flags & JP_PERF_ATTR_DEFER_CALLCHAIN)
		own_attr->flags |= deferred;
}

static void set_clock(struct jp_perf_attr *own_attr, const struct jp_perf_attr *attr)
{
	own_attr->config = attr->config;
	own_attr->sample_period = attr->sample_period;
	own_attr->flags |= JP_PERF_ATTR_FREQ | JP_PERF_ATTR_INHERIT;
	set_sampling(own_attr, attr);
}

static void set_breakpoint(struct jp_perf_attr *own_attr, const struct jp_perf_attr *attr)
{
	own_attr->sample_period = 1;
	own_attr->bp_type = JP_PERF_BREAKPOINT_X;
	own_attr->config1 = attr->config1;
	own_attr->config2 = LENGTH;
	own_attr->flags |= JP_PERF_ATTR_EXCLUDE_KERNEL | JP_PERF_ATTR_EXCLUDE_HV;
	set_sampling(own_attr, attr);
}

static void set_sideband(struct jp_perf_attr *own_attr, const struct jp_perf_attr *attr)
{
	own_attr->config = JP_PERF_SW_DUMMY;
	own_attr->flags |= JP_PERF_ATTR_INHERIT | JP_PERF_ATTR_MMAP | JP_PERF_ATTR_MMAP2 |
			   JP_PERF_ATTR_COMM | JP_PERF_ATTR_COMM_EXEC | JP_PERF_ATTR_TASK |
			   (attr->flags & JP_PERF_ATTR_MMAP_DATA);
}

bool jp_perf_is_own_attr(const struct jp_perf_attr *attr)
{
	const uint64_t kernel = JP_PERF_ATTR_EXCLUDE_KERNEL | JP_PERF_ATTR_EXCLUDE_HV;
	struct jp_perf_attr own_attr = {
		.type = attr->type,
		.size = attr->size,
		.sample_type = JP_PERF_SAMPLE_IDENTIFIER | JP_PERF_SAMPLE_IP | JP_PERF_SAMPLE_TID |
			       JP_PERF_SAMPLE_TIME | JP_PERF_SAMPLE_CPU,
		.read_format = JP_PERF_FORMAT_ID | (attr->read_format & JP_PERF_FORMAT_LOST),
		.flags = JP_PERF_ATTR_DISABLED | JP_PERF_ATTR_SAMPLE_ID_ALL |
			 JP_PERF_ATTR_USE_CLOCKID |
			 (attr->flags & JP_PERF_ATTR_EXCLUDE_KERNEL ? kernel : 0) |
			 (attr->flags & JP_PERF_ATTR_ENABLE_ON_EXEC),
		.wakeup_events = attr->wakeup_events,
		.clockid = JP_PERF_CLOCK_MONOTONIC,
	};

	if (attr->type == JP_PERF_TYPE_BREAKPOINT)
		set_breakpoint(&own_attr, attr);
	else if (attr->type == JP_PERF_TYPE_SOFTWARE && attr->config <= JP_PERF_SW_TASK_CLOCK)
		set_clock(&own_attr, attr);
	else
		set_sideband(&own_attr, attr);
	return memcmp(&own_attr, attr, sizeof(own_attr)) == 0;
}
