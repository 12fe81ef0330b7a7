// SPDX-License-Identifier: GPL-2.0-only
#include "harness/format/perfdata/build_ids.h"

#include <string.h>

#include "harness/format/perfdata/format.h"
#include "harness/format/perfdata/swap.h"

/* Offsets: record header, pid, build id, its size, name. */
enum { PID_AT = 8, ID_AT = 12, SIZE_AT = 32, NAME_AT = 36, ID_SIZE = 20 };

const char *jp_perf_parse_build_id(const unsigned char *bytes, uint64_t size, bool swapped,
				   struct jp_event *event, size_t *record_size)
{
	struct jp_perf_record record;
	uint8_t id_size = ID_SIZE;

	if (size < sizeof(record))
		return "a build id of at least 37 bytes";
	memcpy(&record, bytes, sizeof(record));
	if (swapped)
		jp_perf_swap_record_header(&record);
	if (record.size <= NAME_AT || record.size > size)
		return "a build id of at least 37 bytes that fits into its section";
	if (!memchr(bytes + NAME_AT, '\0', record.size - NAME_AT))
		return "the name of a build id to end with it";
	if (record.misc & JP_PERF_MISC_BUILD_ID_SIZE)
		id_size = bytes[SIZE_AT];
	if (id_size > ID_SIZE)
		return "a build id of at most 20 bytes";
	*event = (struct jp_event){
		.type = JP_EVENT_BUILD_ID,
		.record_type = JP_PERF_RECORD_HEADER_BUILD_ID,
		.misc = record.misc,
		.kernel_map = (record.misc & JP_PERF_MISC_CPUMODE) == JP_PERF_MISC_KERNEL,
		.map = {.build_id = bytes + ID_AT,
			.build_id_size = id_size,
			.name = (const char *)bytes + NAME_AT},
	};
	memcpy(&event->pid, bytes + PID_AT, sizeof(event->pid));
	if (swapped)
		event->pid = __builtin_bswap32(event->pid);
	*record_size = record.size;
	return NULL;
}
