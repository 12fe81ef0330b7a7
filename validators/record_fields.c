// SPDX-License-Identifier: GPL-2.0-only
#include "validators/record_fields.h"

#include <string.h>

#include "harness/format/perfdata/format.h"
#include "harness/format/truth/format.h"

enum { WORD = sizeof(uint64_t) };

/* Returns the cause if the header's misc has bits that the kernel does not set: perf_misc_flags()
 * for a software event, perf_event_mmap() for a mapping (whose build id bit may be wrong),
 * perf_event_comm() for an exec. */
static const char *check_misc(const struct jp_event *event)
{
	uint32_t known_bits = JP_PERF_MISC_CPUMODE;

	switch (event->type) {
	case JP_EVENT_SAMPLE:
		if (event->asked->clock == JP_CLOCK_NONE)
			return NULL;
		break;
	case JP_EVENT_MAP:
		known_bits |= JP_PERF_MISC_MMAP_BUILD_ID;
		if (!(event->map.prot & JP_PROT_EXEC))
			known_bits |= JP_PERF_MISC_MMAP_DATA;
		break;
	case JP_EVENT_COMM:
		known_bits = JP_PERF_MISC_COMM_EXEC;
		break;
	case JP_EVENT_FORK:
	case JP_EVENT_EXIT:
		known_bits = 0;
		break;
	default:
		return NULL;
	}
	/* perf_event_mmap() sets user mode. */
	if (event->type == JP_EVENT_MAP &&
	    (event->misc & JP_PERF_MISC_CPUMODE) != JP_PERF_MISC_USER)
		return "other-misc";
	return event->misc & ~known_bits ? "other-misc" : NULL;
}

/* Returns the cause if flags or protection are not such as perf_event_mmap_event() writes: either
 * MAP_SHARED or MAP_PRIVATE, and those mmap() flags that a mapping keeps. */
static const char *check_map(const struct jp_event *event)
{
	/* MAP_LOCKED, MAP_HUGETLB; in old kernels MAP_DENYWRITE and MAP_EXECUTABLE */
	const uint32_t allowed = 0x2000 | 0x40000 | 0x800 | 0x1000,
		       types = JP_MAP_SHARED | JP_MAP_PRIVATE;
	const uint32_t type = event->map.flags & types;

	if (event->record_type != JP_PERF_RECORD_MMAP2 || event->kernel_map)
		return NULL;
	if (event->map.flags & ~(allowed | types) || !type || type == types)
		return "other-flags";
	return event->map.prot & ~(JP_PROT_READ | JP_PROT_WRITE | JP_PROT_EXEC) ? "other-protection"
										: NULL;
}

/* Returns the cause if a record of perf_event_ksymbol() or perf_event_bpf_event() lacks a field. */
static const char *check_content(const struct jp_event *event)
{
	static const unsigned char zeros[8];
	const struct jp_perf_record *record = event->record;
	const unsigned char *body = (const unsigned char *)(record + 1);
	const size_t size = record->size - sizeof(*record);

	switch (event->record_type) {
	case JP_PERF_RECORD_KSYMBOL: /* u64 address, u32 length, u16 type, u16 flags, name */
		return size < 17 || !memcmp(body, zeros, 8) || !body[16] ? "no-content" : NULL;
	case JP_PERF_RECORD_BPF_EVENT: /* u16 type, u16 flags, u32 id */
		return size < 8 || !memcmp(body, zeros, 2) || !memcmp(body + 4, zeros, 4)
			       ? "no-content"
			       : NULL;
	default:
		return NULL;
	}
}

/* perf_event_mmap_event() and perf_event_comm_event() pad the last word of a name with zeros. */
static const char *check_name_padding(const struct jp_event *event)
{
	static const char zeros[WORD];
	const char *name = event->type == JP_EVENT_MAP    ? event->map.name
			   : event->type == JP_EVENT_COMM ? event->comm.name
							  : NULL;
	const size_t length = name ? strlen(name) + 1 : 0;

	return name && memcmp(name + length, zeros, -length % WORD) != 0 ? "other-padding" : NULL;
}

/* Returns the cause if bytes other than zero follow the name, before the fields that our attributes
 * request: thread, time, CPU, id. */
static const char *check_end(const struct jp_event *event)
{
	const struct jp_perf_record *record = event->record;
	const size_t head = event->record_type == JP_PERF_RECORD_MMAP2  ? 72
			    : event->record_type == JP_PERF_RECORD_COMM ? 16
									: 0;
	const char *name = event->type == JP_EVENT_MAP ? event->map.name : event->comm.name;

	for (size_t offset = head ? head + strlen(name) + 1 : record->size;
	     offset + 4 * sizeof(uint64_t) < record->size; offset++)
		if (((const char *)record)[offset])
			return "other-padding";
	return NULL;
}

/* Returns the cause if a record that we synthesized from /proc/kallsyms or /proc/modules is wrong.
 * Such a record belongs to no thread and no event. */
static const char *check_kernel_map(const struct jp_event *event)
{
	static const char text[] = "[kernel.kallsyms]_text";
	const bool is_text = strcmp(event->map.name, text) == 0;
	const uint64_t end = event->map.addr + event->map.len;

	return event->pid != UINT32_MAX || event->tid || event->by_pid != event->pid ||
			       event->by_tid || event->reserved ||
			       event->misc != JP_PERF_MISC_KERNEL || event->map.name[0] != '[' ||
			       event->map.pgoff != (is_text ? event->map.addr : 0) ||
			       end <= event->map.addr || !(event->map.addr >> 63)
		       ? "other-kernel-map"
		       : NULL;
}

const char *jp_record_check_fields(const struct jp_event *event, bool is_own)
{
	const char *cause = check_content(event);

	if (!cause && is_own && event->kernel_map)
		return check_kernel_map(event);
	if (!cause && (event->id || is_own))
		cause = check_map(event);
	return !cause && is_own ? check_end(event) : cause;
}

const char *jp_record_check_live_fields(const struct jp_event *event)
{
	/* A file with one event has no ids; the kernel writes all samples. */
	if (!event->id)
		return event->type == JP_EVENT_SAMPLE ? check_misc(event) : NULL;
	/* perf_event_header__init_id() writes the CPU and a zero. */
	return event->reserved ? "other-reserved" : check_misc(event) ?: check_name_padding(event);
}
