/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Some memory of one process for some time: addresses [start, end), times from @from to @until,
 * both within. */
struct jp_box {
	uint64_t start, end, from, until;
};

/*
 * Boxes of numbered owners, such as processes' mappings, to find those that meet another one. All
 * zero is an empty set. All boxes are added first: to build the tree of n costs n log n, to search
 * it log n and what is found, where few of one owner lie in one place at one time. No order of
 * boxes makes it deeper than log n.
 *
 *	for (size_t at = 0; jp_boxes_next(&boxes, pid, &box, &at, &item);)
 *		... array[item] ...
 */
struct jp_boxes {
	struct jp_boxes_node *nodes; /* each before those below it */
	size_t count, capacity;
};

/* @owner's element @item has @box. 0 or -ENOMEM. */
int jp_boxes_add(struct jp_boxes *boxes, uint32_t owner, const struct jp_box *box, size_t item);
/* Once all were added, and before anything is searched. */
void jp_boxes_build(struct jp_boxes *boxes);
/* Leaves an empty set. */
void jp_boxes_free(struct jp_boxes *boxes);
/*
 * The next element of @owner whose box meets @box, into *@item; *@at starts as 0. In no order, but
 * the later and the higher ones tend to come first. Between two calls @box may become smaller.
 * False: that was all.
 */
bool jp_boxes_next(const struct jp_boxes *boxes, uint32_t owner, const struct jp_box *box,
		   size_t *at, size_t *item);
