/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef JP_RANGES_H
#define JP_RANGES_H

#include <stddef.h>
#include <stdint.h>

/*
 * What lies where in one address space: disjoint ranges in the order of addresses, each with a
 * value, 0 meaning nothing. Neighbours of one value are one range. Copies share until one of them
 * is changed, so that a fork costs nothing.
 */
struct jp_range {
	uint64_t start, end;
	uint32_t value;
};

struct jp_ranges;
struct jp_ranges *jp_ranges_new(void);
/* Another reference, to be freed and set by itself. */
struct jp_ranges *jp_ranges_share(struct jp_ranges *ranges);
void jp_ranges_free(struct jp_ranges *ranges); /* NULL is fine */

/* [@start, @end) becomes @value. *@ranges may move: it was shared. 0 or -ENOMEM. */
int jp_ranges_set(struct jp_ranges **ranges, uint64_t start, uint64_t end, uint32_t value);
/* The range that covers @addr, else the nothing that does: its start is @addr, its end the start of
 * the next range, or UINT64_MAX. */
struct jp_range jp_ranges_at(const struct jp_ranges *ranges, uint64_t addr);

#endif
