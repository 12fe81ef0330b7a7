/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* An address range [@start, @end) during the times from @start_time to @end_time, inclusive. */
struct jp_box {
	uint64_t start, end, start_time, end_time;
};

/*
 * A set of boxes with numbered owners, such as processes' mappings, for finding the boxes of one
 * owner that overlap a given box in address and time. All zero is an empty set. Add all boxes
 * before the first search. Building the tree of n boxes costs n log n. A search costs log n plus
 * its results, if few boxes of an owner overlap.
 *
 * 	for (size_t at = 0; jp_boxes_find_next(&boxes, pid, &box, &at, &item);)
 * 		... array[item] ...
 *
 */
struct jp_boxes {
	struct jp_boxes_node *nodes; /* the tree: each node precedes its children */
	size_t count, capacity;
};

/* Adds the box of @owner's element @item. Returns 0 or -ENOMEM. */
int jp_boxes_add(struct jp_boxes *boxes, uint32_t owner, const struct jp_box *box, size_t item);
/* Builds the tree. Call this after the last jp_boxes_add() and before the first search. */
void jp_boxes_build(struct jp_boxes *boxes);
/* Frees the set's memory; the set is then empty. */
void jp_boxes_free(struct jp_boxes *boxes);
/* Stores in *@item the next element of @owner whose box overlaps @box. *@cursor is the search's
 * position: set it to 0 before the first call. The order is undefined, but boxes with later times
 * and higher addresses tend to come first. @box may shrink between calls. Returns false if there
 * are no more. */
bool jp_boxes_find_next(const struct jp_boxes *boxes, uint32_t owner, const struct jp_box *box,
			size_t *cursor, size_t *item);
