/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Disjoint ranges of one address space, sorted. Lookups and changes cost log n. Copies share their
 * nodes until one is changed, and afterwards all unchanged nodes, so a fork costs almost
 * nothing. */
struct jp_ranges;

/* Type of a range: a struct that begins with uint64_t start and end, and has a size that is a
 * multiple of 8. */
struct jp_range_kind {
	size_t size;
	/* Adjusts @range after its first @by bytes were cut off. NULL: nothing to adjust. */
	void (*advance)(void *range, uint64_t by);
	/* Returns whether the adjacent ranges @one and @next can be merged. NULL: never. */
	bool (*same)(const void *one, const void *next);
};
struct jp_ranges *jp_ranges_of(const struct jp_range_kind *kind);
/* Returns another reference, which is freed and changed independently. */
struct jp_ranges *jp_ranges_share(struct jp_ranges *ranges);
void jp_ranges_free(struct jp_ranges *ranges);

/* Inserts @range. Replaces *@ranges by a copy if it was shared. Returns 0 or -ENOMEM. */
int jp_ranges_put(struct jp_ranges **ranges, const void *range);
/* Clears [@start, @end). Replaces *@ranges by a copy if it was shared. Returns 0 or -ENOMEM. */
int jp_ranges_clear(struct jp_ranges **ranges, uint64_t start, uint64_t end);
/* Returns the first range that ends above @addr, valid until the next change, or NULL. */
void *jp_ranges_from(const struct jp_ranges *ranges, uint64_t addr);
/* Returns the last range that ends at @addr or below, valid until the next change, or NULL. */
void *jp_ranges_before(const struct jp_ranges *ranges, uint64_t addr);
/* Returns a writable range like jp_ranges_from(), unshared if needed. Returns NULL if there is
 * none, or no memory. */
void *jp_ranges_own(struct jp_ranges **ranges, uint64_t addr);

/* Ranges with a value; 0 is no range. Neighbours with the same value are merged. */
struct jp_range {
	uint64_t start, end;
	uint32_t value;
};
struct jp_ranges *jp_ranges_new(void);
/* Sets [@start, @end) to @value. Returns 0 or -ENOMEM. */
int jp_ranges_set(struct jp_ranges **ranges, uint64_t start, uint64_t end, uint32_t value);
/* Returns the range with @addr, or the gap from @addr to the next range or UINT64_MAX. */
struct jp_range jp_ranges_at(const struct jp_ranges *ranges, uint64_t addr);
