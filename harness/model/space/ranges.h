/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * What lies where in one address space: disjoint ranges in the order of addresses. Finding and
 * changing one costs log n, in whatever order. Copies share until one of them is changed, and then
 * all but what was changed, so that a fork costs next to nothing.
 */
struct jp_ranges;

/* What a range is: it begins with @start and @end, and its size is a multiple of 8. */
struct jp_range_kind {
	size_t size;
	/* @range begins @by later than it did: what was before it is gone. NULL: nothing to do. */
	void (*advance)(void *range, uint64_t by);
	/* Whether @one and @next, which touch, are one range. NULL: never. */
	bool (*same)(const void *one, const void *next);
};
struct jp_ranges *jp_ranges_of(const struct jp_range_kind *kind);
/* Another reference, to be freed and changed by itself. */
struct jp_ranges *jp_ranges_share(struct jp_ranges *ranges);
void jp_ranges_free(struct jp_ranges *ranges); /* NULL is fine */

/* What changes them may move *@ranges, which was shared. 0 or -ENOMEM. */
int jp_ranges_put(struct jp_ranges **ranges, const void *range);
int jp_ranges_clear(struct jp_ranges **ranges, uint64_t start, uint64_t end);
/* The first range that ends above @addr, or NULL; until the next change. */
void *jp_ranges_from(const struct jp_ranges *ranges, uint64_t addr);
/* The last range that ends at @addr or below, or NULL; the same. */
void *jp_ranges_before(const struct jp_ranges *ranges, uint64_t addr);
/* As jp_ranges_from(), no more shared: what may be written to. NULL: there is none, or no memory.
 */
void *jp_ranges_own(struct jp_ranges **ranges, uint64_t addr);

/* Ranges that have a value each, 0 meaning nothing. Neighbours of one value are one range. */
struct jp_range {
	uint64_t start, end;
	uint32_t value;
};
struct jp_ranges *jp_ranges_new(void);
/* [@start, @end) becomes @value. 0 or -ENOMEM. */
int jp_ranges_set(struct jp_ranges **ranges, uint64_t start, uint64_t end, uint32_t value);
/* The range that covers @addr, else the nothing that does: its start is @addr, its end the start of
 * the next range, or UINT64_MAX. */
struct jp_range jp_ranges_at(const struct jp_ranges *ranges, uint64_t addr);
