// SPDX-License-Identifier: GPL-2.0-only
#include "harness/model/space/ranges.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/order.h"
#include "harness/base/search.h"

/* Small nodes keep insertions and copies on write cheap. */
enum { FEWEST = 2, MOST = 16, MOST_BYTES = 192 };

/* The members with which every range begins. */
struct extent {
	uint64_t start, end;
};

/* A node of a B+ tree, which contains ranges or child nodes. Trees that were copied share the nodes
 * that neither of them changed. */
struct ranges_node {
	size_t refs;
	uint32_t level, count, capacity; /* @level: 0 for ranges; @count: never 0 */
	uint64_t words[];
};

/* A child node, and the end of the last range in it, so that a search reads no grandchildren. */
struct ranges_child {
	uint64_t end;
	struct ranges_node *node;
};

struct jp_ranges {
	const struct jp_range_kind *kind;
	size_t refs;
	struct ranges_node *root; /* NULL: no ranges */
};

struct jp_ranges *jp_ranges_new_of_kind(const struct jp_range_kind *kind)
{
	struct jp_ranges *ranges = kind->size <= MOST_BYTES ? calloc(1, sizeof(*ranges)) : NULL;

	if (ranges) {
		ranges->kind = kind;
		ranges->refs = 1;
	}
	return ranges;
}

struct jp_ranges *jp_ranges_share(struct jp_ranges *ranges)
{
	ranges->refs++;
	return ranges;
}

static struct ranges_child *get_children(const struct ranges_node *node)
{
	return (struct ranges_child *)node->words;
}

static void free_node(struct ranges_node *node)
{
	if (--node->refs)
		return;
	for (size_t i = 0; node->level && i < node->count; i++)
		free_node(get_children(node)[i].node);
	free(node);
}

void jp_ranges_free(struct jp_ranges *ranges)
{
	if (!ranges || --ranges->refs)
		return;
	if (ranges->root)
		free_node(ranges->root);
	free(ranges);
}

static size_t get_item_size(const struct jp_range_kind *kind, const struct ranges_node *node)
{
	return node->level ? sizeof(struct ranges_child) : kind->size;
}

/* Returns range or struct ranges_child @index of @node. */
static void *get_item(const struct jp_range_kind *kind, const struct ranges_node *node,
		      size_t index)
{
	return (char *)node->words + index * get_item_size(kind, node);
}

static struct extent *get_range(const struct jp_range_kind *kind, const struct ranges_node *node,
				size_t index)
{
	return get_item(kind, node, index);
}

static uint64_t get_last_end(const struct jp_range_kind *kind, const struct ranges_node *node)
{
	return node->level ? get_children(node)[node->count - 1].end
			   : get_range(kind, node, node->count - 1)->end;
}

/* Returns the index of the first item of @node that ends above @addr, or the number of items. */
static size_t find_item(const struct jp_range_kind *kind, const struct ranges_node *node,
			uint64_t addr)
{
	size_t i;

	if (node->level)
		jp_search(i, node->count, get_children(node)[i].end <= addr);
	else
		jp_search(i, node->count, get_range(kind, node, i)->end <= addr);
	return i;
}

void *jp_ranges_find_at_or_above(const struct jp_ranges *ranges, uint64_t addr)
{
	const struct ranges_node *node = ranges->root;
	size_t i = node ? find_item(ranges->kind, node, addr) : 0;

	while (node && node->level && i < node->count) {
		node = get_children(node)[i].node;
		i = find_item(ranges->kind, node, addr);
	}
	return node && i < node->count ? get_item(ranges->kind, node, i) : NULL;
}

void *jp_ranges_find_below(const struct jp_ranges *ranges, uint64_t addr)
{
	const struct ranges_node *node = ranges->root, *previous = NULL;
	size_t last = 0;

	while (node) {
		const size_t i = find_item(ranges->kind, node, addr);

		if (i) {
			previous = node;
			last = i - 1;
		}
		node = node->level && i < node->count ? get_children(node)[i].node : NULL;
	}
	while (previous && previous->level) {
		previous = get_children(previous)[last].node;
		last = previous->count - 1;
	}
	return previous ? get_item(ranges->kind, previous, last) : NULL;
}

static struct ranges_node *make_node(const struct jp_range_kind *kind, uint32_t level,
				     size_t capacity)
{
	const size_t size = level ? sizeof(struct ranges_child) : kind->size;
	struct ranges_node *node = malloc(sizeof(*node) + capacity * size);

	if (node)
		*node = (struct ranges_node){.refs = 1, .level = level, .capacity = capacity};
	return node;
}

/* Makes *@ranges exclusive; its nodes may stay shared. Returns 0 or -ENOMEM. */
static int make_ranges_exclusive(struct jp_ranges **ranges)
{
	struct jp_ranges *shared_ranges = *ranges, *copy;

	if (shared_ranges->refs == 1)
		return 0;
	copy = jp_ranges_new_of_kind(shared_ranges->kind);
	if (!copy)
		return -ENOMEM;
	copy->root = shared_ranges->root;
	if (copy->root)
		copy->root->refs++;
	jp_ranges_free(shared_ranges);
	*ranges = copy;
	return 0;
}

/* Makes the node in *@link exclusive, with room for at least @capacity items, which is at most
 * their present number + 1. Its children may stay shared. Returns the node, or NULL if there is no
 * memory. */
static struct ranges_node *get_exclusive_node(const struct jp_range_kind *kind,
					      struct ranges_node **link, size_t capacity)
{
	struct ranges_node *node = *link, *new_node;
	const bool is_shared = node->refs > 1;

	if (!is_shared && node->capacity >= capacity)
		return node;
	new_node = make_node(kind, node->level,
			     is_shared ? jp_max(capacity, node->count)
				       : jp_min(2 * node->capacity, MOST));
	if (!new_node)
		return NULL;
	new_node->count = node->count;
	memcpy(new_node->words, node->words, node->count * get_item_size(kind, node));
	for (size_t i = 0; is_shared && node->level && i < node->count; i++)
		get_children(node)[i].node->refs++;
	if (is_shared)
		node->refs--;
	else
		free(node);
	return *link = new_node;
}

void *jp_ranges_own(struct jp_ranges **ranges, uint64_t addr)
{
	struct ranges_node **link, *node;

	if (!jp_ranges_find_at_or_above(*ranges, addr) || make_ranges_exclusive(ranges))
		return NULL;
	for (link = &(*ranges)->root; (node = get_exclusive_node((*ranges)->kind, link, 0));) {
		const size_t i = find_item((*ranges)->kind, node, addr);

		if (!node->level)
			return get_item((*ranges)->kind, node, i);
		link = &get_children(node)[i].node;
	}
	return NULL;
}

/* Inserts an item into an exclusive @node with enough capacity. */
static void *insert_item(const struct jp_range_kind *kind, struct ranges_node *node, size_t index)
{
	memmove(get_item(kind, node, index + 1), get_item(kind, node, index),
		(node->count - index) * get_item_size(kind, node));
	node->count++;
	return get_item(kind, node, index);
}

static void remove_item(const struct jp_range_kind *kind, struct ranges_node *node, size_t index)
{
	node->count--;
	memmove(get_item(kind, node, index), get_item(kind, node, index + 1),
		(node->count - index) * get_item_size(kind, node));
}

/* Splits the full child @i of @parent before a range is inserted at @addr. mmap() mostly returns
 * ascending or descending addresses: if @addr is at either end, leaves the old node almost full.
 * Otherwise moves half of it. */
static int split_child(const struct jp_range_kind *kind, struct ranges_node *parent, size_t i,
		       uint64_t addr)
{
	struct ranges_node *full = get_exclusive_node(kind, &get_children(parent)[i].node, 0),
			   *next;
	const size_t position = full ? find_item(kind, full, addr) : 0;
	const size_t nr_kept = !position ? 1 : position >= MOST - 1 ? MOST - 1 : MOST / 2;

	next = full ? make_node(kind, full->level, MOST - nr_kept + 1) : NULL;
	if (!next)
		return -ENOMEM;
	next->count = MOST - nr_kept;
	memcpy(next->words, get_item(kind, full, nr_kept), next->count * get_item_size(kind, full));
	full->count = nr_kept;
	get_children(parent)[i].end = get_last_end(kind, full);
	*(struct ranges_child *)insert_item(kind, parent, i + 1) =
		(struct ranges_child){get_last_end(kind, next), next};
	return 0;
}

static int add_root(struct jp_ranges *ranges)
{
	struct ranges_node *old_root = ranges->root;
	struct ranges_node *root =
		make_node(ranges->kind, old_root ? old_root->level + 1 : 0, FEWEST);

	if (!root)
		return -ENOMEM;
	if (old_root)
		*(struct ranges_child *)insert_item(ranges->kind, root, 0) =
			(struct ranges_child){get_last_end(ranges->kind, old_root), old_root};
	ranges->root = root;
	return 0;
}

/* Inserts @range into a gap. Splits full nodes on the way down, so each parent has room. */
static int insert_range(struct jp_ranges *ranges, const struct extent *range)
{
	const struct jp_range_kind *kind = ranges->kind;
	struct ranges_node **link, *node;

	if ((!ranges->root || ranges->root->count == MOST) && add_root(ranges))
		return -ENOMEM;
	for (link = &ranges->root; (node = get_exclusive_node(kind, link, (*link)->count + 1));) {
		size_t i = find_item(kind, node, range->start);

		if (!node->level) {
			memcpy(insert_item(kind, node, i), range, kind->size);
			return 0;
		}
		/* @addr is above all items: append to the last child. */
		i = jp_min(i, node->count - 1);
		if (get_children(node)[i].node->count == MOST) {
			if (split_child(kind, node, i, range->start))
				return -ENOMEM;
			i = jp_min(find_item(kind, node, range->start), i + 1);
		}
		get_children(node)[i].end = jp_max(get_children(node)[i].end, range->end);
		link = &get_children(node)[i].node;
	}
	return -ENOMEM;
}

/* Sets to @end the end of the first range below @node that ends above @addr, or removes that range
 * if it becomes empty. All nodes on the path to it are exclusive. */
static void shorten_in_node(const struct jp_range_kind *kind, struct ranges_node *node,
			    uint64_t addr, uint64_t end)
{
	const size_t i = find_item(kind, node, addr);
	bool is_empty;

	if (node->level) {
		struct ranges_child *child = &get_children(node)[i];

		shorten_in_node(kind, child->node, addr, end);
		is_empty = !child->node->count;
		if (is_empty)
			free(child->node);
		else
			child->end = get_last_end(kind, child->node);
	} else {
		is_empty = get_range(kind, node, i)->start >= end;
		get_range(kind, node, i)->end = end;
	}
	if (is_empty)
		remove_item(kind, node, i);
}

/* Does the same as shorten_in_node() from the root, and removes the root if it becomes empty. */
static void shorten_first_range(struct jp_ranges *ranges, uint64_t addr, uint64_t end)
{
	struct ranges_node *root = ranges->root;

	shorten_in_node(ranges->kind, root, addr, end);
	if (!root->count)
		ranges->root = NULL;
	else if (root->level && root->count == 1)
		ranges->root = get_children(root)[0].node;
	if (ranges->root != root)
		free(root);
}

static void advance_start(const struct jp_range_kind *kind, struct extent *range, uint64_t start)
{
	uint64_t cut = start - range->start;

	range->start = start;
	if (kind->advance)
		kind->advance(range, cut);
}

/* Cuts [@start, @end) out of @range; the part above @end becomes a new range. */
static int cut_hole(struct jp_ranges *ranges, const struct extent *range, uint64_t start,
		    uint64_t end)
{
	uint64_t behind[MOST_BYTES / sizeof(uint64_t)];

	memcpy(behind, range, ranges->kind->size);
	advance_start(ranges->kind, (struct extent *)behind, end);
	shorten_first_range(ranges, start, start);
	return insert_range(ranges, (struct extent *)behind);
}

int jp_ranges_clear(struct jp_ranges **ranges, uint64_t start, uint64_t end)
{
	struct extent *range;

	while (start < end && (range = jp_ranges_find_at_or_above(*ranges, start)) &&
	       range->start < end) {
		range = jp_ranges_own(ranges, start);
		if (!range)
			return -ENOMEM;
		if (range->end <= end)
			shorten_first_range(*ranges, start, start);
		else if (range->start < start)
			return cut_hole(*ranges, range, start, end);
		else
			advance_start((*ranges)->kind, range, end);
	}
	return 0;
}

int jp_ranges_put(struct jp_ranges **ranges, const void *new_range)
{
	const struct jp_range_kind *kind = (*ranges)->kind;
	uint64_t bytes[MOST_BYTES / sizeof(uint64_t)];
	struct extent *range = (struct extent *)bytes;
	const struct extent *before, *after;
	int failed;

	memcpy(range, new_range, kind->size);
	if (range->start >= range->end)
		return 0;
	failed = jp_ranges_clear(ranges, range->start, range->end);
	if (failed || !kind->same)
		return failed ?: make_ranges_exclusive(ranges) ?: insert_range(*ranges, range);
	before = jp_ranges_find_below(*ranges, range->start);
	after = jp_ranges_find_at_or_above(*ranges, range->end);
	if (before && before->end == range->start && kind->same(before, range))
		range->start = before->start;
	if (after && after->start == range->end && kind->same(range, after))
		range->end = after->end;
	return jp_ranges_clear(ranges, range->start, range->end)
		       ?: make_ranges_exclusive(ranges) ?: insert_range(*ranges, range);
}

static bool are_values_equal(const void *range, const void *next)
{
	return ((const struct jp_range *)range)->value == ((const struct jp_range *)next)->value;
}

struct jp_ranges *jp_ranges_new(void)
{
	static const struct jp_range_kind values = {.size = sizeof(struct jp_range),
						    .same = are_values_equal};

	return jp_ranges_new_of_kind(&values);
}

int jp_ranges_set(struct jp_ranges **ranges, uint64_t start, uint64_t end, uint32_t value)
{
	return value ? jp_ranges_put(ranges, &(struct jp_range){start, end, value})
		     : jp_ranges_clear(ranges, start, end);
}

struct jp_range jp_ranges_at(const struct jp_ranges *ranges, uint64_t addr)
{
	const struct jp_range *range = jp_ranges_find_at_or_above(ranges, addr);

	if (!range)
		return (struct jp_range){addr, UINT64_MAX, 0};
	if (range->start > addr)
		return (struct jp_range){addr, range->start, 0};
	return *range;
}
