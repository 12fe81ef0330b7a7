// SPDX-License-Identifier: GPL-2.0-only
#include "harness/base/map.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_BITS = 4 };

static bool grow_map(struct jp_map *map, size_t size)
{
	struct jp_map wider = *map;

	wider.words = map->slots ? map->words : 1 + (size + 7) / 8;
	wider.shift = map->slots ? map->shift - 1 : 64 - FIRST_BITS;
	wider.capacity = (size_t)1 << (64 - wider.shift);
	wider.slots = calloc(wider.capacity + 1, wider.words * sizeof(*wider.slots));
	if (!wider.slots)
		return false;
	for (size_t i = 0; i < map->capacity; i++) {
		const uint64_t *slot = map->slots + i * map->words;

		if (*slot)
			memcpy(jp_map_slot(&wider, *slot), slot, map->words * sizeof(*slot));
	}
	if (map->zero)
		memcpy(jp_map_slot(&wider, 0), jp_map_slot(map, 0),
		       map->words * sizeof(*map->slots));
	free(map->slots);
	*map = wider;
	return true;
}

void *jp_map_at(struct jp_map *map, uint64_t key, size_t size)
{
	void *value = jp_map_find(map, key);
	uint64_t *slot;

	if (value)
		return value;
	if (map->count >= map->capacity / 3 * 2 && !grow_map(map, size))
		return NULL;
	slot = jp_map_slot(map, key);
	*slot = key;
	map->zero |= !key;
	map->count++;
	return slot + 1;
}

void *jp_map_next(const struct jp_map *map, size_t *cursor, uint64_t *key)
{
	while (map->slots && *cursor <= map->capacity) {
		uint64_t *slot = map->slots + *cursor * map->words;
		bool is_used = *cursor < map->capacity ? *slot : map->zero;

		++*cursor;
		if (is_used && key)
			*key = *slot;
		if (is_used)
			return slot + 1;
	}
	return NULL;
}

void jp_map_free(struct jp_map *map)
{
	free(map->slots);
	*map = (struct jp_map){0};
}
