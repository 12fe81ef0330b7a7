// SPDX-License-Identifier: GPL-2.0-only
#include "harness/format/perfdata/decode.h"

#include <string.h>
#include <sys/mman.h>

#include "harness/base/round.h"

/* Reserves a word for a field if @sample_type has @bit. Returns its offset, or 0. */
static uint16_t place_field(uint64_t sample_type, uint64_t bit, uint16_t *offset)
{
	uint16_t field_offset = *offset;

	if (!(sample_type & bit))
		return 0;
	*offset += sizeof(uint64_t);
	return field_offset;
}

void jp_perf_compute_layout(const struct jp_perf_attr *attr, uint32_t e_machine,
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
	identifier = place_field(type, JP_PERF_SAMPLE_IDENTIFIER, &offset);
	layout->ip = place_field(type, JP_PERF_SAMPLE_IP, &offset);
	layout->tid = place_field(type, JP_PERF_SAMPLE_TID, &offset);
	layout->time = place_field(type, JP_PERF_SAMPLE_TIME, &offset);
	place_field(type, JP_PERF_SAMPLE_ADDR, &offset);
	layout->id = place_field(type, JP_PERF_SAMPLE_ID, &offset);
	place_field(type, JP_PERF_SAMPLE_STREAM_ID, &offset);
	layout->cpu = place_field(type, JP_PERF_SAMPLE_CPU, &offset);
	layout->period = place_field(type, JP_PERF_SAMPLE_PERIOD, &offset);
	layout->fixed = offset;
	if (identifier)
		layout->id = identifier;

	if (!(attr->flags & JP_PERF_ATTR_SAMPLE_ID_ALL))
		return;
	/* Fields of a sample id in order: TID TIME ID STREAM_ID CPU IDENTIFIER. Their offsets count
	 * from the record's end. */
	identifier = place_field(type, JP_PERF_SAMPLE_IDENTIFIER, &back);
	layout->end_cpu = place_field(type, JP_PERF_SAMPLE_CPU, &back);
	place_field(type, JP_PERF_SAMPLE_STREAM_ID, &back);
	layout->end_id = place_field(type, JP_PERF_SAMPLE_ID, &back);
	layout->end_time = place_field(type, JP_PERF_SAMPLE_TIME, &back);
	layout->end_tid = place_field(type, JP_PERF_SAMPLE_TID, &back);
	layout->trailer = back - sizeof(uint64_t);
	if (identifier)
		layout->end_id = identifier;
}

static bool skip_raw_data(struct jp_perf_rest *remaining_bytes)
{
	uint64_t size;

	if (remaining_bytes->end - remaining_bytes->pos < 4)
		return false;
	/* The kernel's size already includes the padding to 8 bytes. */
	size = jp_round_up_to_words((uint64_t)jp_load32(remaining_bytes->pos) + 4);
	return jp_perf_skip_words(remaining_bytes, size, 1);
}

enum { ABI_32 = 1, ABI_64 = 2 };

static bool decode_regs(struct jp_perf_rest *remaining_bytes, const struct jp_perf_layout *layout,
			struct jp_event *event, struct jp_regs *regs)
{
	const struct jp_machine *machine = layout->machine;
	uint64_t mask = layout->regs_mask, modes = 0, abi;
	const unsigned char *values;

	if (!jp_perf_take_word(remaining_bytes, &abi))
		return false;
	event->sample.regs_abi = abi;
	if (!abi) /* a kernel thread: no user registers */
		return true;
	values = remaining_bytes->pos;
	if (!jp_perf_skip_words(remaining_bytes, __builtin_popcountll(mask), sizeof(uint64_t)))
		return false;
	/* The registers of a 32-bit task have other numbers and rules. */
	if (abi == ABI_32)
		machine = machine ? jp_machine_compat(machine) : NULL;
	if (!machine || abi > ABI_64)
		return true;
	regs->machine = machine;
	regs->mask = 0;
	for (; mask; mask &= mask - 1, values += sizeof(uint64_t)) {
		unsigned int bit = __builtin_ctzll(mask);
		const struct jp_machine_register *expected;
		uint64_t value = jp_load64(values);

		if (bit >= machine->nr_registers)
			continue;
		expected = &machine->registers[bit];
		event->sample.regs_impossible |= (value & expected->mask) != expected->value;
		modes |= expected->mask ? value : 0;
		if (expected->number < 0)
			continue;
		regs->mask |= UINT64_C(1) << expected->number;
		regs->r[expected->number] = value;
	}
	/* A writer that does not know flags and segments writes 0 for all of them: accept that. */
	event->sample.regs_impossible &= modes != 0;
	event->sample.regs = regs;
	return true;
}

static bool decode_stack(struct jp_perf_rest *remaining_bytes, struct jp_event *event)
{
	const unsigned char *stack;
	uint64_t size, copied;

	if (!jp_perf_take_word(remaining_bytes, &size))
		return false;
	if (!size)
		return true;
	stack = remaining_bytes->pos;
	if (!jp_perf_skip_words(remaining_bytes, size, 1) ||
	    !jp_perf_take_word(remaining_bytes, &copied) || copied > size)
		return false;
	event->sample.stack = stack;
	event->sample.stack_size = copied;
	/* The kernel reserves less if the sample would not fit into a record of 64 KiB. */
	event->sample.stack_asked = size;
	return true;
}

/* perf writes ~0 in synthesized records without a time. */
static void set_time(struct jp_event *event, uint64_t time)
{
	event->time = event->before = time == UINT64_MAX ? 0 : time;
}

static const char *decode_sample(const struct jp_perf_layout *layout,
				 const struct jp_perf_record *record, struct jp_event *event,
				 struct jp_regs *regs)
{
	unsigned char *bytes = (unsigned char *)record;
	struct jp_perf_rest remaining_bytes = {bytes + layout->fixed, bytes + record->size};
	uint64_t type = layout->sample_type;

	if (record->size < layout->fixed || record->size % sizeof(uint64_t))
		return "a sample with all fields that its attr requests, of a multiple of 8 bytes";
	event->pid = layout->tid ? jp_load32(bytes + layout->tid) : 0;
	event->tid = layout->tid ? jp_load32(bytes + layout->tid + 4) : 0;
	event->cpu = layout->cpu ? jp_load32(bytes + layout->cpu) : 0;
	event->reserved = layout->cpu ? jp_load32(bytes + layout->cpu + 4) : 0;
	event->id = layout->id ? jp_load64(bytes + layout->id) : 0;
	set_time(event, layout->time ? jp_load64(bytes + layout->time) : 0);
	event->sample = (typeof(event->sample)){
		.ip = layout->ip ? jp_load64(bytes + layout->ip) : 0,
		.user = (record->misc & JP_PERF_MISC_CPUMODE) == JP_PERF_MISC_USER,
		.period = layout->period ? jp_load64(bytes + layout->period) : 0,
		.stack_asked = layout->stack_asked,
		.kernel_chain = layout->kernel_chain,
	};

	if ((type & JP_PERF_SAMPLE_READ) &&
	    !jp_perf_skip_read(&remaining_bytes, layout->read_format))
		return "a sample that contains the counts of PERF_SAMPLE_READ";
	if (type & JP_PERF_SAMPLE_CALLCHAIN) {
		if (!jp_perf_take_word(&remaining_bytes, &event->sample.nr_chain))
			return "a sample that contains a callchain";
		/* The cast is safe: the record is aligned, and only 64-bit words precede the
		 * chain. */
		event->sample.chain = (const uint64_t *)remaining_bytes.pos;
		if (!jp_perf_skip_words(&remaining_bytes, event->sample.nr_chain, sizeof(uint64_t)))
			return "a callchain that fits into its sample";
	}
	if (!(type & (JP_PERF_SAMPLE_REGS_USER | JP_PERF_SAMPLE_STACK_USER)))
		return NULL;
	if ((type & JP_PERF_SAMPLE_RAW) && !skip_raw_data(&remaining_bytes))
		return "raw data that fits into its sample";
	if ((type & JP_PERF_SAMPLE_BRANCH_STACK) &&
	    !jp_perf_skip_branches(&remaining_bytes, layout->branch_type))
		return "a branch stack that fits into its sample";
	if ((type & JP_PERF_SAMPLE_REGS_USER) &&
	    !decode_regs(&remaining_bytes, layout, event, regs))
		return "as many user registers as the attr's mask has bits";
	if ((type & JP_PERF_SAMPLE_STACK_USER) && !decode_stack(&remaining_bytes, event))
		return "a stack dump that fits into its sample";
	return NULL;
}

/* Returns the name at offset @offset of @record, or NULL if no NUL precedes the sample id. */
static const char *find_name(const struct jp_perf_layout *layout,
			     const struct jp_perf_record *record, size_t offset)
{
	const char *name = (const char *)record + offset;
	size_t end = record->size - layout->trailer;

	if (record->size < layout->trailer || end <= offset || !memchr(name, '\0', end - offset))
		return NULL;
	return name;
}

enum { CPUMODE_GUEST_KERNEL = 4 };

/* Decodes bytes 40 to 64 of an MMAP2: build id, or device and inode. */
static void decode_identity(const struct jp_perf_record *record, struct jp_event *event)
{
	const unsigned char *bytes = (const unsigned char *)record;

	if (jp_perf_has_build_id(record)) {
		event->map.build_id = bytes + 44;
		event->map.build_id_size = bytes[40];
		return;
	}
	event->map.has_identity = true;
	event->map.maj = jp_load32(bytes + 40);
	event->map.min = jp_load32(bytes + 44);
	event->map.ino = jp_load64(bytes + 48);
	event->map.gen = jp_load64(bytes + 56);
}

static const char *decode_map(const struct jp_perf_layout *layout,
			      const struct jp_perf_record *record, struct jp_event *event)
{
	const unsigned char *bytes = (const unsigned char *)record;
	bool is_mmap2 = record->type == JP_PERF_RECORD_MMAP2;
	bool protection = is_mmap2 && jp_perf_has_protection(record);
	unsigned int mode = record->misc & JP_PERF_MISC_CPUMODE;

	event->type = JP_EVENT_MAP;
	/* Set only this member: clearing the whole union would double the cost. */
	event->map = (typeof(event->map)){.name = find_name(layout, record,
							    protection ? 72
							    : is_mmap2 ? 64
								       : 40)};
	if (!event->map.name)
		return "a mapping record with a NUL-terminated name";
	event->pid = jp_load32(bytes + 8);
	event->tid = jp_load32(bytes + 12);
	event->kernel_map = event->pid == UINT32_MAX || mode == JP_PERF_MISC_KERNEL ||
			    mode == CPUMODE_GUEST_KERNEL;
	event->map.addr = jp_load64(bytes + 16);
	event->map.len = jp_load64(bytes + 24);
	event->map.pgoff = jp_load64(bytes + 32);
	if (!event->kernel_map && event->map.len > UINT64_MAX - event->map.addr)
		return "a mapping that ends within the address space";
	event->map.prot = protection                              ? jp_load32(bytes + 64)
			  : record->misc & JP_PERF_MISC_MMAP_DATA ? 0
								  : PROT_EXEC;
	event->map.code = !(record->misc & JP_PERF_MISC_MMAP_DATA);
	if (protection)
		event->map.flags = jp_load32(bytes + 68);
	if (is_mmap2)
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
	event->pid = jp_load32(bytes + 8);
	event->task.ppid = jp_load32(bytes + 12);
	event->tid = jp_load32(bytes + 16);
	event->task.ptid = jp_load32(bytes + 20);
	event->task.time = jp_load64(bytes + 24);
	/* perf since 4.20 sets this bit in synthesized records; the kernel in no FORK. */
	event->task.was_running =
		event->type == JP_EVENT_FORK && record->misc & JP_PERF_MISC_FORK_EXEC;
	event->task.start_kind = JP_START_FORK; /* records do not show clone(CLONE_VM) */
	return NULL;
}

static const char *decode_comm(const struct jp_perf_layout *layout,
			       const struct jp_perf_record *record, struct jp_event *event)
{
	const unsigned char *bytes = (const unsigned char *)record;

	event->type = JP_EVENT_COMM;
	event->comm.name = find_name(layout, record, 16);
	if (!event->comm.name)
		return "a COMM record with a NUL-terminated name";
	event->comm.exec = record->misc & JP_PERF_MISC_COMM_EXEC;
	event->pid = jp_load32(bytes + 8);
	event->tid = jp_load32(bytes + 12);
	return NULL;
}

/* Decodes the NAMESPACES record, which holds device and inode of each namespace, in the order of
 * the kernel's *_NS_INDEX. */
static void decode_namespaces(const struct jp_perf_layout *layout,
			      const struct jp_perf_record *record, struct jp_event *event)
{
	enum { PID = 3, MNT = 5, FIRST = 24, EACH = 16 };
	const unsigned char *bytes = (const unsigned char *)record;
	const uint64_t min = FIRST + layout->trailer;

	event->type = JP_EVENT_OTHER;
	event->namespaces.count = record->size >= min ? jp_load64(bytes + 16) : 0;
	event->namespaces.pid = event->namespaces.mnt = 0;
	if (event->namespaces.count <= MNT || record->size < min + (MNT + 1) * EACH)
		return;
	event->pid = jp_load32(bytes + 8);
	event->namespaces.pid = jp_load64(bytes + FIRST + PID * EACH + 8);
	event->namespaces.mnt = jp_load64(bytes + FIRST + MNT * EACH + 8);
}

static const char *decode_lost(const struct jp_perf_layout *layout,
			       const struct jp_perf_record *record, struct jp_event *event)
{
	bool samples = record->type == JP_PERF_RECORD_LOST_SAMPLES;
	size_t offset = samples ? 8 : 16;

	if (record->size < offset + 8 + layout->trailer)
		return "a LOST record that holds its count";
	event->lost.lost = jp_load64((const unsigned char *)record + offset);
	/* Samples that a BPF filter dropped on purpose are not lost. */
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
	struct jp_perf_rest remaining_bytes = {bytes + sizeof(*record),
					       bytes + record->size - layout->trailer};

	event->type = JP_EVENT_DEFERRED;
	if (!jp_perf_take_word(&remaining_bytes, &event->deferred.cookie) ||
	    !jp_perf_take_word(&remaining_bytes, &event->deferred.count))
		return "a deferred callchain that holds its cookie and its length";
	event->deferred.ips = (const uint64_t *)remaining_bytes.pos;
	if (!jp_perf_skip_words(&remaining_bytes, event->deferred.count, sizeof(uint64_t)))
		return "a deferred callchain that fits into its record";
	return NULL;
}

static void decode_trailer(const struct jp_perf_layout *layout, const unsigned char *end,
			   struct jp_event *event)
{
	const uint64_t task = layout->end_tid ? jp_load64(end - layout->end_tid) : 0;

	event->pid = (uint32_t)task;
	event->tid = task >> 32;
	event->by_pid = event->pid;
	event->by_tid = event->tid;
	event->cpu = layout->end_cpu ? jp_load32(end - layout->end_cpu) : 0;
	event->reserved = layout->end_cpu ? jp_load32(end - layout->end_cpu + 4) : 0;
	event->id = layout->end_id ? jp_load64(end - layout->end_id) : 0;
	set_time(event, layout->end_time ? jp_load64(end - layout->end_time) : 0);
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
		return "a record with the sample id that its attr requests";
	decode_trailer(layout, (const unsigned char *)record + record->size, event);
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
