/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * A hash table from uint64_t, any value of it, to values of one size. All zero is an empty one.
 * Keys that are texts, or pairs that do not fit: harness/base/text_pool.h, or a map of numbers
 * first.
 *
 * An entry takes 8 bytes and its value, rounded up to 8, in 1.5 to 3 slots (at least 16 slots). A
 * full table doubles: for that time both are there. Adding n entries costs O(n). Nothing is
 * removed.
 */
struct jp_map {
	uint64_t *slots; /* capacity + 1 of them: key (0: free) and value; the last is key 0's */
	size_t count, capacity; /* capacity: a power of two */
	size_t words;           /* of a slot */
	unsigned int shift;
	bool zero; /* key 0 is in it */
};

/*
 * The value of @key, of @size bytes, aligned to 8; all zero where it is new. Stays where it is
 * until the next jp_map_at(). @size is the same in all calls. NULL: no memory, and nothing changed.
 */
void *jp_map_at(struct jp_map *map, uint64_t key, size_t size);
/* All entries, in no order: *@at starts as 0. The value, with its key in *@key (may be NULL). NULL:
 * that was all. */
void *jp_map_next(const struct jp_map *map, size_t *at, uint64_t *key);
/* Leaves an empty one. */
void jp_map_free(struct jp_map *map);

/* Where @key is, or the free slot where it belongs. */
static inline uint64_t *jp_map_slot(const struct jp_map *map, uint64_t key)
{
	/* Both halves count, and of the product the upper bits, which all bits of the key reach. */
	size_t at = key ? ((key ^ key >> 32) * UINT64_C(0x9e3779b97f4a7c15)) >> map->shift
			: map->capacity;
	uint64_t *slot = map->slots + at * map->words;

	while (key && *slot && *slot != key) {
		at = (at + 1) & (map->capacity - 1);
		slot = map->slots + at * map->words;
	}
	return slot;
}

/* The value of @key, as of jp_map_at(), or NULL. */
static inline void *jp_map_find(const struct jp_map *map, uint64_t key)
{
	uint64_t *slot = map->count ? jp_map_slot(map, key) : NULL;

	return slot && (key ? *slot == key : map->zero) ? slot + 1 : NULL;
}
