// SPDX-License-Identifier: GPL-2.0-only
#include "validators/mapping_halves.h"

#include <errno.h>
#include <string.h>

/* A record of a file mapping. */
struct half {
	uint32_t pid, prot, flags, maj, min;
	uint64_t start, end, pgoff, ino;
	unsigned char build_id[20];
};

/* Returns the key of an address. If two keys collide, an adjacent record is not found. */
static uint64_t make_key(uint32_t pid, uint64_t addr)
{
	return addr ^ (uint64_t)pid << 40;
}

static struct half make_half(const struct jp_event *record)
{
	struct half half = {.pid = record->pid,
			    .prot = record->map.prot,
			    .flags = record->map.flags,
			    .start = record->map.addr,
			    .end = record->map.addr + record->map.len,
			    .pgoff = record->map.pgoff};

	if (record->map.has_identity) {
		half.maj = record->map.maj;
		half.min = record->map.min;
		half.ino = record->map.ino;
	} else if (record->map.build_id && record->map.build_id_size <= sizeof(half.build_id)) {
		memcpy(half.build_id, record->map.build_id, record->map.build_id_size);
	}
	return half;
}

static bool is_file(const struct half *half)
{
	static const unsigned char no_id[sizeof(half->build_id)];

	return half->ino || memcmp(half->build_id, no_id, sizeof(no_id)) != 0;
}

/* Returns whether @right_half begins where @left_half ends, in memory and in the file. */
static bool is_continued_by(const struct half *left_half, const struct half *right_half)
{
	return left_half->pid == right_half->pid && left_half->end == right_half->start &&
	       left_half->pgoff + (left_half->end - left_half->start) == right_half->pgoff &&
	       left_half->prot == right_half->prot && left_half->flags == right_half->flags &&
	       left_half->maj == right_half->maj && left_half->min == right_half->min &&
	       left_half->ino == right_half->ino &&
	       memcmp(left_half->build_id, right_half->build_id, sizeof(left_half->build_id)) == 0;
}

static int store_half(struct jp_map *map, uint64_t addr, const struct half *half)
{
	struct half *place = jp_map_at(map, make_key(half->pid, addr), sizeof(*place));

	if (!place)
		return -ENOMEM;
	*place = *half;
	return 0;
}

int jp_mapping_halves_note(struct jp_mapping_halves *halves, const struct jp_event *record,
			   bool *touches_start, bool *touches_end)
{
	const struct half half = make_half(record), *left_half, *right_half;

	*touches_start = *touches_end = false;
	if (!is_file(&half))
		return 0;
	left_half = jp_map_find(&halves->ends, make_key(half.pid, half.start));
	right_half = jp_map_find(&halves->starts, make_key(half.pid, half.end));
	*touches_start = left_half && is_continued_by(left_half, &half);
	*touches_end = right_half && is_continued_by(&half, right_half);
	return store_half(&halves->starts, half.start, &half)
		       ?: store_half(&halves->ends, half.end, &half);
}

void jp_mapping_halves_free(struct jp_mapping_halves *halves)
{
	jp_map_free(&halves->starts);
	jp_map_free(&halves->ends);
}
