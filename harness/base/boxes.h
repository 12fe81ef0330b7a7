/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Some memory for some time: addresses [start, end), times from @from to @until, inclusive. */
struct jp_box {
	uint64_t start, end, from, until;
};

/*
 * A set of boxes with numbered owners, such as processes' mappings, for finding those that meet a
 * given box. All zero is an empty set. Add all boxes first. Building the tree of n boxes costs n
 * log n, a search log n plus the results, if few boxes of an owner share a place and a time. The
 * depth is at most log n in any order.
 *
 * 	for (size_t at = 0; jp_boxes_next(&boxes, pid, &box, &at, &item);)
 * 		... array[item] ...
 */
struct jp_boxes {
	struct jp_boxes_node *nodes; /* each node before the nodes below it */
	size_t count, capacity;
};

/* Adds the box of @owner's element @item. Returns 0 or -ENOMEM. */
int jp_boxes_add(struct jp_boxes *boxes, uint32_t owner, const struct jp_box *box, size_t item);
/* Builds the tree, after all additions and before any search. */
void jp_boxes_build(struct jp_boxes *boxes);
/* Frees all; the set is then empty. */
void jp_boxes_free(struct jp_boxes *boxes);
/* Stores in *@item the next element of @owner whose box meets @box; *@at starts as 0. The order is
 * undefined, but later and higher boxes tend to come first. @box may shrink between calls. Returns
 * false at the end. */
bool jp_boxes_next(const struct jp_boxes *boxes, uint32_t owner, const struct jp_box *box,
		   size_t *at, size_t *item);
