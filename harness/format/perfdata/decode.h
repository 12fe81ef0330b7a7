/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "harness/format/event.h"
#include "harness/format/perfdata/format.h"
#include "harness/format/perfdata/machine.h"
#include "harness/format/perfdata/rest.h"

/* Where the fields of one attr's records lie: computed once, so that a record costs no parsing. */
struct jp_perf_layout {
	const struct jp_machine *machine; /* NULL: one that nobody here unwinds */
	uint64_t sample_type, read_format, regs_mask, branch_type;
	uint64_t stack_asked;
	bool kernel_chain; /* callchains are without the user's part */
	bool deferred;     /* the user's part may come later */
	/* Bytes from the start of a sample; 0: absent. */
	uint16_t ip, tid, time, id, cpu, period;
	uint16_t fixed; /* bytes up to the first part of variable size */
	/* Bytes from the end of every other record (sample_id_all); 0: absent. */
	uint16_t end_tid, end_time, end_id, end_cpu;
	uint16_t trailer; /* bytes of all of it */
};

/* @e_machine: whose registers they are (elf.h); 0: unknown. */
void jp_perf_layout(const struct jp_perf_attr *attr, uint32_t e_machine,
		    struct jp_perf_layout *layout);

/*
 * Whether an MMAP2 holds a build id where others have an inode. Kernels 6.1 to 7.1 leave
 * MISC_MMAP_BUILD_ID set on records that hold an inode when two events differ in attr.build_id: a
 * size that no build id has tells, 0 of a device of major number 0 (overlayfs, tmpfs, btrfs). Fixed
 * in 7.2. record->size is 72 at least.
 */
static inline bool jp_perf_has_build_id(const struct jp_perf_record *record)
{
	const unsigned char *bytes = (const unsigned char *)record;

	return (record->misc & JP_PERF_MISC_MMAP_BUILD_ID) && bytes[40] &&
	       bytes[40] <= JP_PERF_BUILD_ID_MOST;
}

/* Whether an MMAP2 holds protection and flags. RHEL 7's first kernels, as 3.12, have the name there
 * already. (perf inject --jit writes a file's mode for the protection.) */
static inline bool jp_perf_has_protection(const struct jp_perf_record *record)
{
	const unsigned char *name = (const unsigned char *)record + 64;

	return record->size < 72 || (name[0] != '/' && name[0] != '[') || name[1] <= ' ' ||
	       name[1] > '~';
}

/* The word that lies @from_start in a sample and @from_end in another record; 0: there is none.
 * record->size bytes are there. */
static inline uint64_t jp_perf_field(const struct jp_perf_layout *layout,
				     const struct jp_perf_record *record, uint16_t from_start,
				     uint16_t from_end)
{
	const unsigned char *bytes = (const unsigned char *)record;

	if (record->type == JP_PERF_RECORD_SAMPLE)
		return from_start && record->size >= layout->fixed
			       ? jp_perf_word(bytes + from_start)
			       : 0;
	return from_end && record->size >= sizeof(*record) + layout->trailer
		       ? jp_perf_word(bytes + record->size - from_end)
		       : 0;
}

/* The event id that a record carries, 0 where it has none. */
static inline uint64_t jp_perf_record_id(const struct jp_perf_layout *layout,
					 const struct jp_perf_record *record)
{
	return jp_perf_field(layout, record, layout->id, layout->end_id);
}

/* Its time, 0 where it has none. */
static inline uint64_t jp_perf_record_time(const struct jp_perf_layout *layout,
					   const struct jp_perf_record *record)
{
	uint64_t time = jp_perf_field(layout, record, layout->time, layout->end_time);

	/* perf writes ~0 where it synthesized a record without a time. */
	return time == UINT64_MAX ? 0 : time;
}

/* Who caused the record: the thread that its sample id names, 0 where it has none. Of a FORK that
 * is the parent. */
static inline uint32_t jp_perf_record_tid(const struct jp_perf_layout *layout,
					  const struct jp_perf_record *record)
{
	return (uint32_t)(jp_perf_field(layout, record, layout->tid, layout->end_tid) >> 32);
}

/*
 * The decoder of the kernel's records (type < JP_PERF_RECORD_USER), of files, rings and tests.
 * @record lies at a multiple of 8, record->size bytes of it are there. Everything in @event is
 * filled but @record, @at and @attr, and a time of UINT64_MAX, as perf writes where it knows none,
 * becomes 0; pointers lead into @record, and to @regs, whose registers are those of a sample.
 * Records of no use here, and of types that are not known, become JP_EVENT_OTHER. Returns NULL, or
 * what was expected where @record does not hold it.
 */
const char *jp_perf_decode(const struct jp_perf_layout *layout, const struct jp_perf_record *record,
			   struct jp_event *event, struct jp_regs *regs);
