// SPDX-License-Identifier: GPL-2.0-only
#include "harness/format/perfdata/decode.h"

#include <string.h>
#include <sys/mman.h>

#include "harness/base/round.h"

/* Takes a word for a field when @sample_type has @bit; returns its offset, or 0. */
static uint16_t place(uint64_t sample_type, uint64_t bit, uint16_t *offset)
{
	uint16_t at = *offset;

	if (!(sample_type & bit))
		return 0;
	*offset += sizeof(uint64_t);
	return at;
}

void jp_perf_layout(const struct jp_perf_attr *attr, uint32_t e_machine,
		    struct jp_perf_layout *layout)
{
	uint64_t type = attr->sample_type;
	uint16_t offset = sizeof(struct jp_perf_record), identifier, back = sizeof(uint64_t);

	*layout = (struct jp_perf_layout){
		.machine = jp_machine_find(e_machine),
		.sample_type = type,
		.read_format = attr->read_format,
		.regs_mask = attr->sample_regs_user,
		.branch_type = attr->branch_sample_type,
		.stack_asked = attr->sample_stack_user,
		.kernel_chain = attr->flags & JP_PERF_ATTR_EXCLUDE_CALLCHAIN_USER,
		.deferred = attr->flags & JP_PERF_ATTR_DEFER_CALLCHAIN,
	};
	identifier = place(type, JP_PERF_SAMPLE_IDENTIFIER, &offset);
	layout->ip = place(type, JP_PERF_SAMPLE_IP, &offset);
	layout->tid = place(type, JP_PERF_SAMPLE_TID, &offset);
	layout->time = place(type, JP_PERF_SAMPLE_TIME, &offset);
	place(type, JP_PERF_SAMPLE_ADDR, &offset);
	layout->id = place(type, JP_PERF_SAMPLE_ID, &offset);
	place(type, JP_PERF_SAMPLE_STREAM_ID, &offset);
	layout->cpu = place(type, JP_PERF_SAMPLE_CPU, &offset);
	layout->period = place(type, JP_PERF_SAMPLE_PERIOD, &offset);
	layout->fixed = offset;
	if (identifier)
		layout->id = identifier;

	if (!(attr->flags & JP_PERF_ATTR_SAMPLE_ID_ALL))
		return;
	/* TID TIME ID STREAM_ID CPU IDENTIFIER, so from the end it is the other way round. */
	identifier = place(type, JP_PERF_SAMPLE_IDENTIFIER, &back);
	layout->end_cpu = place(type, JP_PERF_SAMPLE_CPU, &back);
	place(type, JP_PERF_SAMPLE_STREAM_ID, &back);
	layout->end_id = place(type, JP_PERF_SAMPLE_ID, &back);
	layout->end_time = place(type, JP_PERF_SAMPLE_TIME, &back);
	layout->end_tid = place(type, JP_PERF_SAMPLE_TID, &back);
	layout->trailer = back - sizeof(uint64_t);
	if (identifier)
		layout->end_id = identifier;
}

static uint32_t load32(const void *at)
{
	uint32_t value;

	memcpy(&value, at, sizeof(value));
	return value;
}

static bool skip_raw(struct jp_perf_rest *rest)
{
	uint64_t size;

	if (rest->end - rest->at < 4)
		return false;
	/* The kernel's size reaches to the next multiple of 8 by itself. */
	size = jp_whole_words((uint64_t)load32(rest->at) + 4);
	return jp_perf_skip(rest, size, 1);
}

enum { ABI_64 = 2 };

static bool take_regs(struct jp_perf_rest *rest, const struct jp_perf_layout *layout,
		      struct jp_event *event, struct jp_regs *regs)
{
	const struct jp_machine *machine = layout->machine;
	uint64_t mask = layout->regs_mask, modes = 0, abi;
	const unsigned char *values;

	if (!jp_perf_take(rest, &abi))
		return false;
	event->sample.regs_abi = abi;
	if (!abi) /* a kernel thread: no user registers */
		return true;
	values = rest->at;
	if (!jp_perf_skip(rest, __builtin_popcountll(mask), sizeof(uint64_t)))
		return false;
	/* A 32-bit task's registers have other numbers and rules; nobody here unwinds them. */
	if (abi != ABI_64 || !machine)
		return true;
	regs->machine = machine;
	regs->known = 0;
	for (; mask; mask &= mask - 1, values += sizeof(uint64_t)) {
		unsigned int bit = __builtin_ctzll(mask);
		const struct jp_machine_register *one;
		uint64_t value = jp_perf_word(values);

		if (bit >= machine->nr_registers)
			continue;
		one = &machine->registers[bit];
		event->sample.regs_impossible |= (value & one->mask) != one->value;
		modes |= one->mask ? value : 0;
		if (one->number < 0)
			continue;
		regs->known |= UINT64_C(1) << one->number;
		regs->r[one->number] = value;
	}
	/* Who does not know them writes 0 for all. */
	event->sample.regs_impossible &= modes != 0;
	event->sample.regs = regs;
	return true;
}

static bool take_stack(struct jp_perf_rest *rest, struct jp_event *event)
{
	const unsigned char *stack;
	uint64_t size, copied;

	if (!jp_perf_take(rest, &size))
		return false;
	if (!size)
		return true;
	stack = rest->at;
	if (!jp_perf_skip(rest, size, 1) || !jp_perf_take(rest, &copied) || copied > size)
		return false;
	event->sample.stack = stack;
	event->sample.stack_size = copied;
	/* The kernel asks for less where the sample would not fit into a record of 64 KiB. */
	event->sample.stack_asked = size;
	return true;
}

/* perf writes ~0 where it synthesized a record without a time. */
static void set_time(struct jp_event *event, uint64_t time)
{
	event->time = event->before = time == UINT64_MAX ? 0 : time;
}

static const char *decode_sample(const struct jp_perf_layout *layout,
				 const struct jp_perf_record *record, struct jp_event *event,
				 struct jp_regs *regs)
{
	unsigned char *bytes = (unsigned char *)record;
	struct jp_perf_rest rest = {bytes + layout->fixed, bytes + record->size};
	uint64_t type = layout->sample_type;

	if (record->size < layout->fixed || record->size % sizeof(uint64_t))
		return "a sample that holds what its attr asks for, of a multiple of 8 bytes";
	event->pid = layout->tid ? load32(bytes + layout->tid) : 0;
	event->tid = layout->tid ? load32(bytes + layout->tid + 4) : 0;
	event->cpu = layout->cpu ? load32(bytes + layout->cpu) : 0;
	event->reserved = layout->cpu ? load32(bytes + layout->cpu + 4) : 0;
	event->id = layout->id ? jp_perf_word(bytes + layout->id) : 0;
	set_time(event, layout->time ? jp_perf_word(bytes + layout->time) : 0);
	event->sample.ip = layout->ip ? jp_perf_word(bytes + layout->ip) : 0;
	event->sample.user = (record->misc & JP_PERF_MISC_CPUMODE) == JP_PERF_MISC_USER;
	event->sample.period = layout->period ? jp_perf_word(bytes + layout->period) : 0;
	event->sample.chain = NULL;
	event->sample.nr_chain = 0;
	event->sample.chain_deferred = false;
	event->sample.deferred = NULL;
	event->sample.nr_deferred = 0;
	event->sample.regs = NULL;
	event->sample.regs_impossible = false;
	event->sample.regs_abi = 0;
	event->sample.stack = NULL;
	event->sample.stack_size = 0;
	event->sample.stack_asked = layout->stack_asked;
	event->sample.kernel_chain = layout->kernel_chain;

	if ((type & JP_PERF_SAMPLE_READ) && !jp_perf_skip_read(&rest, layout->read_format))
		return "room in the sample for the counts of PERF_SAMPLE_READ";
	if (type & JP_PERF_SAMPLE_CALLCHAIN) {
		if (!jp_perf_take(&rest, &event->sample.nr_chain))
			return "room in the sample for a callchain";
		/* Aligned: the record is, and everything before the chain is 64-bit words. */
		event->sample.chain = (const uint64_t *)rest.at;
		if (!jp_perf_skip(&rest, event->sample.nr_chain, sizeof(uint64_t)))
			return "a callchain that fits into its sample";
	}
	if (!(type & (JP_PERF_SAMPLE_REGS_USER | JP_PERF_SAMPLE_STACK_USER)))
		return NULL;
	if ((type & JP_PERF_SAMPLE_RAW) && !skip_raw(&rest))
		return "raw data that fits into its sample";
	if ((type & JP_PERF_SAMPLE_BRANCH_STACK) &&
	    !jp_perf_skip_branches(&rest, layout->branch_type))
		return "a branch stack that fits into its sample";
	if ((type & JP_PERF_SAMPLE_REGS_USER) && !take_regs(&rest, layout, event, regs))
		return "user registers as many as the attr's mask has bits";
	if ((type & JP_PERF_SAMPLE_STACK_USER) && !take_stack(&rest, event))
		return "a stack dump that fits into its sample";
	return NULL;
}

/* A NUL-terminated name from @at of the record up to its trailer; NULL where it is not. */
static const char *name_at(const struct jp_perf_layout *layout, const struct jp_perf_record *record,
			   size_t at)
{
	const char *name = (const char *)record + at;
	size_t end = record->size - layout->trailer;

	if (record->size < layout->trailer || end <= at || !memchr(name, '\0', end - at))
		return NULL;
	return name;
}

enum { CPUMODE_GUEST_KERNEL = 4 };

/* What bytes 40 to 64 of an MMAP2 say of the file. */
static void decode_identity(const struct jp_perf_record *record, struct jp_event *event)
{
	const unsigned char *bytes = (const unsigned char *)record;

	if (jp_perf_has_build_id(record)) {
		event->map.build_id = bytes + 44;
		event->map.build_id_size = bytes[40];
		return;
	}
	event->map.has_identity = true;
	event->map.maj = load32(bytes + 40);
	event->map.min = load32(bytes + 44);
	event->map.ino = jp_perf_word(bytes + 48);
	event->map.gen = jp_perf_word(bytes + 56);
}

static const char *decode_map(const struct jp_perf_layout *layout,
			      const struct jp_perf_record *record, struct jp_event *event)
{
	const unsigned char *bytes = (const unsigned char *)record;
	bool two = record->type == JP_PERF_RECORD_MMAP2;
	bool protection = two && jp_perf_has_protection(record);
	unsigned int mode = record->misc & JP_PERF_MISC_CPUMODE;

	event->type = JP_EVENT_MAP;
	event->map.name = name_at(layout, record, protection ? 72 : two ? 64 : 40);
	if (!event->map.name)
		return "a mapping record with a NUL-terminated name";
	event->pid = load32(bytes + 8);
	event->tid = load32(bytes + 12);
	event->kernel_map = event->pid == UINT32_MAX || mode == JP_PERF_MISC_KERNEL ||
			    mode == CPUMODE_GUEST_KERNEL;
	event->map.addr = jp_perf_word(bytes + 16);
	event->map.len = jp_perf_word(bytes + 24);
	event->map.pgoff = jp_perf_word(bytes + 32);
	/* Each by itself: to clear the whole takes as long as all the rest. */
	event->map.has_identity = false;
	event->map.maj = event->map.min = event->map.flags = event->map.build_id_size = 0;
	event->map.ino = event->map.gen = 0;
	event->map.build_id = NULL;
	if (!event->kernel_map && event->map.len > UINT64_MAX - event->map.addr)
		return "a mapping that ends within the address space";
	event->map.prot = protection                              ? load32(bytes + 64)
			  : record->misc & JP_PERF_MISC_MMAP_DATA ? 0
								  : PROT_EXEC;
	if (protection)
		event->map.flags = load32(bytes + 68);
	if (two)
		decode_identity(record, event);
	return NULL;
}

static const char *decode_task(const struct jp_perf_layout *layout,
			       const struct jp_perf_record *record, struct jp_event *event)
{
	const unsigned char *bytes = (const unsigned char *)record;

	if (record->size < 32 + layout->trailer)
		return "a FORK or EXIT record of at least 32 bytes and its trailer";
	event->type = record->type == JP_PERF_RECORD_FORK ? JP_EVENT_FORK : JP_EVENT_EXIT;
	event->pid = load32(bytes + 8);
	event->task.ppid = load32(bytes + 12);
	event->tid = load32(bytes + 16);
	event->task.ptid = load32(bytes + 20);
	event->task.time = jp_perf_word(bytes + 24);
	/* perf sets it in those that it synthesizes, since 4.20; the kernel in no FORK. */
	event->task.there = event->type == JP_EVENT_FORK && record->misc & JP_PERF_MISC_FORK_EXEC;
	event->task.how = JP_HOW_FORK; /* no record tells of clone(CLONE_VM) */
	return NULL;
}

static const char *decode_comm(const struct jp_perf_layout *layout,
			       const struct jp_perf_record *record, struct jp_event *event)
{
	const unsigned char *bytes = (const unsigned char *)record;

	event->type = JP_EVENT_COMM;
	event->comm.name = name_at(layout, record, 16);
	if (!event->comm.name)
		return "a COMM record with a NUL-terminated name";
	event->comm.exec = record->misc & JP_PERF_MISC_COMM_EXEC;
	event->pid = load32(bytes + 8);
	event->tid = load32(bytes + 12);
	return NULL;
}

/* Device and inode of each, in the order of the kernel's *_NS_INDEX. */
static void decode_namespaces(const struct jp_perf_layout *layout,
			      const struct jp_perf_record *record, struct jp_event *event)
{
	enum { PID = 3, MNT = 5, FIRST = 24, EACH = 16 };
	const unsigned char *bytes = (const unsigned char *)record;
	const uint64_t least = FIRST + layout->trailer;

	event->type = JP_EVENT_OTHER;
	event->namespaces.count = record->size >= least ? jp_perf_word(bytes + 16) : 0;
	event->namespaces.pid = event->namespaces.mnt = 0;
	if (event->namespaces.count <= MNT || record->size < least + (MNT + 1) * EACH)
		return;
	event->pid = load32(bytes + 8);
	event->namespaces.pid = jp_perf_word(bytes + FIRST + PID * EACH + 8);
	event->namespaces.mnt = jp_perf_word(bytes + FIRST + MNT * EACH + 8);
}

static const char *decode_lost(const struct jp_perf_layout *layout,
			       const struct jp_perf_record *record, struct jp_event *event)
{
	bool samples = record->type == JP_PERF_RECORD_LOST_SAMPLES;
	size_t at = samples ? 8 : 16;

	if (record->size < at + 8 + layout->trailer)
		return "a LOST record that holds its count";
	event->lost.lost = jp_perf_word((const unsigned char *)record + at);
	/* What a BPF filter dropped on purpose is not lost. */
	event->type = JP_EVENT_OTHER;
	if (samples && (record->misc & JP_PERF_MISC_LOST_SAMPLES_BPF))
		return NULL;
	event->type = samples ? JP_EVENT_LOST_SAMPLES : JP_EVENT_LOST;
	return NULL;
}

static const char *decode_deferred(const struct jp_perf_layout *layout,
				   const struct jp_perf_record *record, struct jp_event *event)
{
	unsigned char *bytes = (unsigned char *)record;
	struct jp_perf_rest rest = {bytes + sizeof(*record),
				    bytes + record->size - layout->trailer};

	event->type = JP_EVENT_DEFERRED;
	if (!jp_perf_take(&rest, &event->deferred.cookie) ||
	    !jp_perf_take(&rest, &event->deferred.count))
		return "a deferred callchain that holds its cookie and its length";
	event->deferred.ips = (const uint64_t *)rest.at;
	if (!jp_perf_skip(&rest, event->deferred.count, sizeof(uint64_t)))
		return "a deferred callchain that fits into its record";
	return NULL;
}

/* The sample id that ends at @end. */
static void take_trailer(const struct jp_perf_layout *layout, const unsigned char *end,
			 struct jp_event *event)
{
	const uint64_t task = layout->end_tid ? jp_perf_word(end - layout->end_tid) : 0;

	event->pid = (uint32_t)task;
	event->tid = task >> 32;
	event->by_pid = event->pid;
	event->by_tid = event->tid;
	event->cpu = layout->end_cpu ? load32(end - layout->end_cpu) : 0;
	event->reserved = layout->end_cpu ? load32(end - layout->end_cpu + 4) : 0;
	event->id = layout->end_id ? jp_perf_word(end - layout->end_id) : 0;
	set_time(event, layout->end_time ? jp_perf_word(end - layout->end_time) : 0);
}

const char *jp_perf_decode(const struct jp_perf_layout *layout, const struct jp_perf_record *record,
			   struct jp_event *event, struct jp_regs *regs)
{
	event->record_type = record->type;
	event->misc = record->misc;
	event->kernel_map = false;
	if (record->type == JP_PERF_RECORD_SAMPLE) {
		event->type = JP_EVENT_SAMPLE;
		return decode_sample(layout, record, event, regs);
	}
	if (record->size < sizeof(*record) + layout->trailer)
		return "a record that holds the sample id its attr asks for";
	take_trailer(layout, (const unsigned char *)record + record->size, event);
	switch (record->type) {
	case JP_PERF_RECORD_MMAP:
	case JP_PERF_RECORD_MMAP2:
		return decode_map(layout, record, event);
	case JP_PERF_RECORD_COMM:
		return decode_comm(layout, record, event);
	case JP_PERF_RECORD_FORK:
	case JP_PERF_RECORD_EXIT:
		return decode_task(layout, record, event);
	case JP_PERF_RECORD_LOST:
	case JP_PERF_RECORD_LOST_SAMPLES:
		return decode_lost(layout, record, event);
	case JP_PERF_RECORD_CALLCHAIN_DEFERRED:
		return decode_deferred(layout, record, event);
	case JP_PERF_RECORD_NAMESPACES:
		decode_namespaces(layout, record, event);
		return NULL;
	case JP_PERF_RECORD_THROTTLE:
		event->type = JP_EVENT_THROTTLE;
		return NULL;
	default:
		event->type = JP_EVENT_OTHER;
		return NULL;
	}
}
