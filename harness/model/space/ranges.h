/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Disjoint ranges of one address space, sorted. Lookups and changes cost log n. A copy shares all
 * nodes with its original; a later change of either copies only the changed nodes, so a fork costs
 * almost nothing. */
struct jp_ranges;

/* The type of ranges in a set: a struct that begins with uint64_t start and end and whose size is a
 * multiple of 8. */
struct jp_range_kind {
	size_t size;
	/* Adjusts @range after its first @by bytes were cut off. NULL: no adjustment is needed. */
	void (*advance)(void *range, uint64_t by);
	/* Returns whether the adjacent ranges @one and @next can be merged. NULL: never. */
	bool (*same)(const void *one, const void *next);
};
struct jp_ranges *jp_ranges_new_of_kind(const struct jp_range_kind *kind);
/* Returns a copy of @ranges that is freed and changed independently of it. */
struct jp_ranges *jp_ranges_share(struct jp_ranges *ranges);
void jp_ranges_free(struct jp_ranges *ranges);

/* Inserts @range. Replaces *@ranges by a copy if it was shared. Returns 0 or -ENOMEM. */
int jp_ranges_put(struct jp_ranges **ranges, const void *range);
/* Clears [@start, @end). Replaces *@ranges by a copy if it was shared. Returns 0 or -ENOMEM. */
int jp_ranges_clear(struct jp_ranges **ranges, uint64_t start, uint64_t end);
/* Returns the first range that ends above @addr, valid until the next change, or NULL. */
void *jp_ranges_find_at_or_above(const struct jp_ranges *ranges, uint64_t addr);
/* Returns the last range that ends at @addr or below, valid until the next change, or NULL. */
void *jp_ranges_find_below(const struct jp_ranges *ranges, uint64_t addr);
/* Returns the same range as jp_ranges_find_at_or_above(), but writable: copies shared nodes if
 * needed. Returns NULL if there is no such range, or no memory. */
void *jp_ranges_own(struct jp_ranges **ranges, uint64_t addr);

/* A range with a value, for jp_ranges_set(). Value 0 means no range. Neighbours with the same value
 * are merged. */
struct jp_range {
	uint64_t start, end;
	uint32_t value;
};
struct jp_ranges *jp_ranges_new(void);
/* Sets [@start, @end) to @value. Returns 0 or -ENOMEM. */
int jp_ranges_set(struct jp_ranges **ranges, uint64_t start, uint64_t end, uint32_t value);
/* Returns the range that contains @addr; if there is none, the gap from @addr to the next range or
 * UINT64_MAX, with value 0. */
struct jp_range jp_ranges_at(const struct jp_ranges *ranges, uint64_t addr);
