/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * A hash table from any uint64_t to values of one size. All zero is empty. For keys that are texts,
 * or pairs that do not fit into 64 bits, use harness/base/text_pool.h, or a first map that numbers
 * them.
 *
 * A slot has 8 bytes for the key, and the value, rounded up to 8 bytes. The table has 1.5 to 3
 * slots for each entry, and at least 16. When the table doubles, both sizes are in memory at once.
 * Adding n entries costs O(n). Entries are never removed.
 */
struct jp_map {
	/* @capacity + 1 slots of a key (0: the slot is free) and a value; the last slot is for key
	 * 0 */
	uint64_t *slots;
	size_t count, capacity; /* number of entries; number of slots, a power of two */
	size_t words;           /* size of a slot in 8-byte words */
	unsigned int shift;
	bool zero; /* whether key 0 is present */
};

/* Returns the value of @key: @size bytes, aligned to 8, valid until the next jp_map_at(). Adds @key
 * with a value of zeros if the map does not have it. @size must be the same in all calls. Returns
 * NULL and leaves the map unchanged if out of memory. */
void *jp_map_at(struct jp_map *map, uint64_t key, size_t size);
/* Returns the next value, in no particular order, and stores its key in *@key (may be NULL). Set
 * *@cursor to 0 before the first call. Returns NULL at the end. */
void *jp_map_next(const struct jp_map *map, size_t *cursor, uint64_t *key);
/* Frees the map's memory; the map is then empty. */
void jp_map_free(struct jp_map *map);

/* Returns the slot of @key, or the free slot for it. */
static inline uint64_t *jp_map_slot(const struct jp_map *map, uint64_t key)
{
	/* Multiply to mix both halves of the key. The upper bits of the product depend on all bits
	 * of the key. */
	size_t index = key ? ((key ^ key >> 32) * UINT64_C(0x9e3779b97f4a7c15)) >> map->shift
			   : map->capacity;
	uint64_t *slot = map->slots + index * map->words;

	while (key && *slot && *slot != key) {
		index = (index + 1) & (map->capacity - 1);
		slot = map->slots + index * map->words;
	}
	return slot;
}

/* Returns the value of @key, valid as for jp_map_at(), or NULL. */
static inline void *jp_map_find(const struct jp_map *map, uint64_t key)
{
	uint64_t *slot = map->count ? jp_map_slot(map, key) : NULL;

	return slot && (key ? *slot == key : map->zero) ? slot + 1 : NULL;
}
