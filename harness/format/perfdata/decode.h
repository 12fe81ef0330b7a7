/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "harness/format/event.h"
#include "harness/format/perfdata/format.h"
#include "harness/format/perfdata/machine.h"
#include "harness/format/perfdata/rest.h"

/* Offsets of the fields in the records of one attr, computed once per attr. */
struct jp_perf_layout {
	const struct jp_machine *machine; /* NULL: the machine is not supported */
	uint64_t sample_type, read_format, regs_mask, branch_type;
	uint64_t stack_asked;
	bool kernel_chain; /* callchains lack the user part */
	bool deferred;     /* the user part may follow in a later record */
	/* Offsets from the start of a sample; 0: absent. */
	uint16_t ip, tid, time, id, cpu, period;
	uint16_t fixed; /* offset of the first field of variable size */
	/* Offsets from the end of every other record (sample_id_all); 0: absent. */
	uint16_t end_tid, end_time, end_id, end_cpu;
	uint16_t trailer; /* size of the sample id */
};

/* Computes @layout from @attr. @e_machine: the machine of its registers (elf.h); 0: unknown. */
void jp_perf_compute_layout(const struct jp_perf_attr *attr, uint32_t e_machine,
			    struct jp_perf_layout *layout);

/* Returns whether MMAP2 record @record, which has at least 72 bytes, contains a build id in place
 * of an inode. If two events differ in attr.build_id, kernels 6.1 to 7.1 leave MISC_MMAP_BUILD_ID
 * set on records that contain an inode (fixed in 7.2). The byte where a build id has its size
 * reveals these records: it is no valid size, and 0 for a device of major number 0 (overlayfs,
 * tmpfs, btrfs). */
static inline bool jp_perf_has_build_id(const struct jp_perf_record *record)
{
	const unsigned char *bytes = (const unsigned char *)record;

	return (record->misc & JP_PERF_MISC_MMAP_BUILD_ID) && bytes[40] &&
	       bytes[40] <= JP_PERF_BUILD_ID_MOST;
}

/*
 * Returns whether an MMAP2 record contains protection and flags. Records of kernels 3.12 to 3.15,
 * and of the first kernels of RHEL 7 (3.10), have the name at that offset. A protection is below 8,
 * or the mode of a file in records of perf inject --jit: two of its four bytes are 0 in any byte
 * order. The first four bytes of a name contain no two zeros, because a shorter name is a path or
 * in brackets.
 */
static inline bool jp_perf_has_protection(const struct jp_perf_record *record)
{
	const unsigned char *name = (const unsigned char *)record + 64;

	if (record->size < 72)
		return true;
	return !(name[0] && name[1] && name[2] && name[3]) &&
	       ((name[0] != '/' && name[0] != '[') || name[1] <= ' ' || name[1] > '~');
}

/* Returns the word at offset @from_start of a sample, or at @from_end before the end of another
 * record, or 0 if the record has no such field. @record is completely in memory. */
static inline uint64_t jp_perf_field(const struct jp_perf_layout *layout,
				     const struct jp_perf_record *record, uint16_t from_start,
				     uint16_t from_end)
{
	const unsigned char *bytes = (const unsigned char *)record;

	if (record->type == JP_PERF_RECORD_SAMPLE)
		return from_start && record->size >= layout->fixed ? jp_load64(bytes + from_start)
								   : 0;
	return from_end && record->size >= sizeof(*record) + layout->trailer
		       ? jp_load64(bytes + record->size - from_end)
		       : 0;
}

/* Returns the event id of @record, or 0. */
static inline uint64_t jp_perf_record_id(const struct jp_perf_layout *layout,
					 const struct jp_perf_record *record)
{
	return jp_perf_field(layout, record, layout->id, layout->end_id);
}

/* Returns the time of @record in ns, or 0. */
static inline uint64_t jp_perf_record_time(const struct jp_perf_layout *layout,
					   const struct jp_perf_record *record)
{
	uint64_t time = jp_perf_field(layout, record, layout->time, layout->end_time);

	/* perf writes ~0 in synthesized records without a time. */
	return time == UINT64_MAX ? 0 : time;
}

/* Returns the tid in the sample id of @record, or 0. For a FORK this is the parent. */
static inline uint32_t jp_perf_record_tid(const struct jp_perf_layout *layout,
					  const struct jp_perf_record *record)
{
	return (uint32_t)(jp_perf_field(layout, record, layout->tid, layout->end_tid) >> 32);
}

/*
 * Decodes a record of the kernel (type < JP_PERF_RECORD_USER) from a file or a ring. @record is
 * aligned to 8 and completely in memory. Fills @event except @record, @file_offset and @attr.
 * Pointers in it lead into @record, and to @regs, which receives the registers of a sample. A
 * time of UINT64_MAX, which perf writes for an unknown time, becomes 0. Unused and unknown types
 * become JP_EVENT_OTHER. Returns NULL, or what was expected if @record is malformed.
 */
const char *jp_perf_decode(const struct jp_perf_layout *layout, const struct jp_perf_record *record,
			   struct jp_event *event, struct jp_regs *regs);
