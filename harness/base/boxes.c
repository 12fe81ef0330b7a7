// SPDX-License-Identifier: GPL-2.0-only
#include "harness/base/boxes.h"

#include <errno.h>
#include <stdlib.h>

#include "harness/base/array.h"
#include "harness/base/order.h"

/* A node of a k-d tree that is stored in an array. Each node precedes its two subtrees and has
 * their size, so that a search can skip them. */
struct jp_boxes_node {
	/* The node's own box; the smallest box around its subtree. */
	struct jp_box box, bounds;
	/* The node's own owner; the range of owners in its subtree. */
	uint32_t owner, lowest, highest;
	/* @size: number of nodes in its subtree; a subtree includes its root */
	uint32_t item, size;
};

/* The dimension that separates the subtrees of a node. */
enum axis { OWNER, PLACE, TIME };

int jp_boxes_add(struct jp_boxes *boxes, uint32_t owner, const struct jp_box *box, size_t item)
{
	struct jp_boxes_node *node =
		item < UINT32_MAX && boxes->count < UINT32_MAX
			? jp_array_push(&boxes->nodes, &boxes->count, &boxes->capacity)
			: NULL;

	if (!node)
		return -ENOMEM;
	*node = (struct jp_boxes_node){.box = *box,
				       .bounds = *box,
				       .owner = owner,
				       .lowest = owner,
				       .highest = owner,
				       .item = item,
				       .size = 1};
	return 0;
}

static uint64_t get_key(const struct jp_boxes_node *node, enum axis axis)
{
	return axis == OWNER ? node->owner : axis == PLACE ? node->box.start : node->box.start_time;
}

static void swap(struct jp_boxes_node *a, struct jp_boxes_node *b)
{
	const struct jp_boxes_node saved = *a;

	*a = *b;
	*b = saved;
}

/* Quickselect: reorders @nodes so that index @nth has the node that sorting by @axis would put
 * there, no node before it has a larger key, and no node after it has a smaller key. The pivot is
 * pseudo-random, so that no common input order is slow. */
static void select_nth(struct jp_boxes_node *nodes, size_t count, size_t nth, enum axis axis)
{
	uint64_t seed = count;

	for (size_t low = 0, high = count; high - low > 1;) {
		size_t lower = low, i = low, upper = high;
		uint64_t pivot;

		seed = seed * UINT64_C(6364136223846793005) + 1;
		pivot = get_key(&nodes[low + (seed >> 32) % (high - low)], axis);
		while (i < upper) {
			const uint64_t value = get_key(&nodes[i], axis);

			if (value > pivot)
				swap(&nodes[lower++], &nodes[i++]);
			else if (value < pivot)
				swap(&nodes[i], &nodes[--upper]);
			else
				i++;
		}
		if (nth < lower)
			high = lower;
		else if (nth >= upper)
			low = upper;
		else
			return;
	}
}

/* Returns how many nodes after index @middle extend across the middle node's start: a search that
 * meets one of these must visit both subtrees. */
static size_t count_crossing(const struct jp_boxes_node *nodes, size_t count, size_t middle,
			     enum axis axis)
{
	const struct jp_box *split = &nodes[middle].box;
	size_t crossed = 0;

	for (size_t i = middle + 1; i < count; i++)
		crossed += axis == PLACE ? nodes[i].box.end > split->start
					 : nodes[i].box.end_time >= split->start_time;
	return crossed;
}

/* Partitions @nodes at index @middle in the dimension that separates the two halves best. */
static void split_nodes(struct jp_boxes_node *nodes, size_t count, size_t middle)
{
	size_t crossed;

	for (size_t i = 1; i < count; i++) {
		if (nodes[i].owner != nodes[0].owner) {
			select_nth(nodes, count, middle, OWNER);
			return;
		}
	}
	select_nth(nodes, count, middle, PLACE);
	crossed = count_crossing(nodes, count, middle, PLACE);
	if (!crossed)
		return;
	select_nth(nodes, count, middle, TIME);
	if (count_crossing(nodes, count, middle, TIME) > crossed)
		select_nth(nodes, count, middle, PLACE);
}

static void include_subtree(struct jp_boxes_node *node, const struct jp_boxes_node *below)
{
	node->bounds = (struct jp_box){
		.start = jp_min(node->bounds.start, below->bounds.start),
		.end = jp_max(node->bounds.end, below->bounds.end),
		.start_time = jp_min(node->bounds.start_time, below->bounds.start_time),
		.end_time = jp_max(node->bounds.end_time, below->bounds.end_time)};
	node->lowest = jp_min(node->lowest, below->lowest);
	node->highest = jp_max(node->highest, below->highest);
	node->size += below->size;
}

/* Builds a tree of @nodes, whose middle node becomes the root. */
static void build_tree(struct jp_boxes_node *nodes, size_t count)
{
	const size_t middle = count / 2;

	if (count < 2)
		return;
	split_nodes(nodes, count, middle);
	swap(&nodes[0], &nodes[middle]);
	build_tree(nodes + 1, middle);
	build_tree(nodes + 1 + middle, count - middle - 1);
	include_subtree(nodes, nodes + 1);
	if (count > middle + 1)
		include_subtree(nodes, nodes + 1 + middle);
}

void jp_boxes_build(struct jp_boxes *boxes)
{
	build_tree(boxes->nodes, boxes->count);
}

void jp_boxes_free(struct jp_boxes *boxes)
{
	free(boxes->nodes);
	*boxes = (struct jp_boxes){0};
}

static bool do_boxes_overlap(const struct jp_box *a, const struct jp_box *b)
{
	return a->start < b->end && b->start < a->end && a->start_time <= b->end_time &&
	       b->start_time <= a->end_time;
}

bool jp_boxes_find_next(const struct jp_boxes *boxes, uint32_t owner, const struct jp_box *box,
			size_t *cursor, size_t *item)
{
	while (*cursor < boxes->count) {
		const struct jp_boxes_node *node = &boxes->nodes[*cursor];
		const bool may_match = owner >= node->lowest && owner <= node->highest &&
				       do_boxes_overlap(&node->bounds, box);

		*cursor += may_match ? 1 : node->size;
		if (may_match && node->owner == owner && do_boxes_overlap(&node->box, box)) {
			*item = node->item;
			return true;
		}
	}
	return false;
}
