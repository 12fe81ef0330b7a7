// SPDX-License-Identifier: GPL-2.0-only
#include "harness/format/jit/jitdump_find.h"

#include <string.h>

#include "harness/format/jit/jitdump_format.h"

/* Largest number of records without a pid (DEBUG_INFO, UNWINDING_INFO) before their LOAD. */
enum { MOST_BEFORE = 16 };

bool jp_jitdump_begins(const unsigned char *bytes, uint64_t remaining)
{
	struct jp_jitdump_prefix prefix;

	if (remaining < sizeof(prefix))
		return !remaining;
	memcpy(&prefix, bytes, sizeof(prefix));
	return prefix.id < JP_JITDUMP_TYPES && prefix.total_size >= sizeof(prefix);
}

/* Each of these functions returns whether @size bytes of a record fit its type. */

static bool is_load(const unsigned char *bytes, uint64_t size,
		    const struct jp_jitdump_known *header)
{
	struct jp_jitdump_load load;

	if (size <= sizeof(load))
		return false;
	memcpy(&load, bytes, sizeof(load));
	return jp_map_find(&header->pids, load.pid) && load.code_size &&
	       load.code_size < size - sizeof(load) &&
	       load.code_addr + load.code_size > load.code_addr &&
	       memchr(bytes + sizeof(load), '\0', size - sizeof(load) - load.code_size);
}

static bool is_move(const unsigned char *bytes, uint64_t size,
		    const struct jp_jitdump_known *header)
{
	struct jp_jitdump_move move;

	if (size < sizeof(move))
		return false;
	memcpy(&move, bytes, sizeof(move));
	return jp_map_find(&header->pids, move.pid) && move.code_size &&
	       move.old_code_addr + move.code_size > move.old_code_addr &&
	       move.new_code_addr + move.code_size > move.new_code_addr;
}

static bool is_debug(const unsigned char *bytes, uint64_t size)
{
	struct jp_jitdump_debug debug;

	if (size < sizeof(debug))
		return false;
	memcpy(&debug, bytes, sizeof(debug));
	return debug.nr_entry <=
	       (size - sizeof(debug)) / (sizeof(struct jp_jitdump_debug_entry) + 1);
}

static bool is_unwinding(const unsigned char *bytes, uint64_t size)
{
	struct jp_jitdump_unwinding unwinding;

	if (size < sizeof(unwinding))
		return false;
	memcpy(&unwinding, bytes, sizeof(unwinding));
	return unwinding.unwinding_size <= size - sizeof(unwinding) &&
	       unwinding.eh_frame_hdr_size <= unwinding.unwinding_size;
}

static bool is_plausible_record(const unsigned char *bytes, uint64_t remaining,
				const struct jp_jitdump_known *header)
{
	struct jp_jitdump_prefix prefix;

	for (int i = 0; i <= MOST_BEFORE && remaining >= sizeof(prefix); i++) {
		memcpy(&prefix, bytes, sizeof(prefix));
		if (prefix.total_size < sizeof(prefix) || prefix.total_size > remaining ||
		    prefix.timestamp < header->least_time)
			return false;
		if (prefix.id == JP_JITDUMP_LOAD)
			return is_load(bytes, prefix.total_size, header);
		if (prefix.id == JP_JITDUMP_MOVE)
			return is_move(bytes, prefix.total_size, header);
		if (prefix.id == JP_JITDUMP_CLOSE)
			return prefix.total_size == sizeof(prefix) && remaining == sizeof(prefix);
		if (prefix.id == JP_JITDUMP_DEBUG_INFO ? !is_debug(bytes, prefix.total_size)
		    : prefix.id == JP_JITDUMP_UNWINDING_INFO
			    ? !is_unwinding(bytes, prefix.total_size)
			    : true)
			return false;
		bytes += prefix.total_size;
		remaining -= prefix.total_size;
	}
	return false;
}

/* Returns whether a file header begins at @bytes. A process that opens the file again appends
 * one. */
static bool is_header(const unsigned char *bytes, uint64_t remaining,
		      struct jp_jitdump_header *header)
{
	if (remaining < sizeof(*header))
		return false;
	memcpy(header, bytes, sizeof(*header));
	return header->magic == JP_JITDUMP_MAGIC && header->version == JP_JITDUMP_VERSION &&
	       header->total_size == sizeof(*header);
}

uint64_t jp_jitdump_find(const unsigned char *bytes, uint64_t size, uint64_t start, uint64_t end,
			 struct jp_jitdump_known *known_pids)
{
	struct jp_jitdump_header header;

	for (uint64_t offset = start; offset < end; offset++) {
		if (is_header(bytes + offset, size - offset, &header) &&
		    jp_jitdump_begins(bytes + offset + sizeof(header),
				      size - offset - sizeof(header))) {
			/* If memory is short, the only effect is that records of this pid are not
			 * recognized. */
			jp_map_at(&known_pids->pids, header.pid, 1);
			return offset + sizeof(header);
		}
		if (is_plausible_record(bytes + offset, size - offset, known_pids))
			return offset;
	}
	return end;
}
