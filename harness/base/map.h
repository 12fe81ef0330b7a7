/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * A hash table from any uint64_t to values of one size. All zero is empty. For texts, or pairs that
 * do not fit into a key: harness/base/text_pool.h, or first a map of numbers.
 *
 * An entry takes 8 bytes and its value, rounded up to 8, in 1.5 to 3 slots (at least 16 slots). A
 * full table doubles, with both in memory meanwhile. Adding n entries costs O(n). Entries are never
 * removed.
 */
struct jp_map {
	uint64_t *slots; /* capacity + 1 slots: key (0: free) and value; the last is for key 0 */
	size_t count, capacity; /* number of entries; a power of two */
	size_t words;           /* words in a slot */
	unsigned int shift;
	bool zero; /* whether key 0 is present */
};

/* Returns the value of @key, @size bytes, aligned to 8; a new value is all zero. Valid until the
 * next jp_map_at(). @size must be the same in all calls. Returns NULL if out of memory, without a
 * change. */
void *jp_map_at(struct jp_map *map, uint64_t key, size_t size);
/* Returns the next value, in no order, and its key in *@key (may be NULL); *@at starts as 0.
 * Returns NULL at the end. */
void *jp_map_next(const struct jp_map *map, size_t *at, uint64_t *key);
/* Frees all; the map is then empty. */
void jp_map_free(struct jp_map *map);

/* Returns the slot of @key, or the free slot for it. */
static inline uint64_t *jp_map_slot(const struct jp_map *map, uint64_t key)
{
	/* Use both halves of the key, and the upper bits of the product, which depend on all
	 * bits. */
	size_t at = key ? ((key ^ key >> 32) * UINT64_C(0x9e3779b97f4a7c15)) >> map->shift
			: map->capacity;
	uint64_t *slot = map->slots + at * map->words;

	while (key && *slot && *slot != key) {
		at = (at + 1) & (map->capacity - 1);
		slot = map->slots + at * map->words;
	}
	return slot;
}

/* Returns the value of @key, valid as for jp_map_at(), or NULL. */
static inline void *jp_map_find(const struct jp_map *map, uint64_t key)
{
	uint64_t *slot = map->count ? jp_map_slot(map, key) : NULL;

	return slot && (key ? *slot == key : map->zero) ? slot + 1 : NULL;
}
