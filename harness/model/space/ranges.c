// SPDX-License-Identifier: GPL-2.0-only
#include "harness/model/space/ranges.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/order.h"
#include "harness/base/search.h"

/* Small nodes keep an insertion cheap wherever it falls, and a copy on write small. */
enum { FEWEST = 2, MOST = 16, MOST_BYTES = 192 };

/* What every range begins with. */
struct extent {
	uint64_t start, end;
};

/* Of a B+ tree: it holds ranges, or nodes. A copy shares those that it did not change. */
struct ranges_node {
	size_t refs;
	uint32_t level, count, capacity; /* level: 0 where it holds ranges; count: never 0 */
	uint64_t words[];
};

/* Beside the node stands where the last range below it ends: the search reads nothing else. */
struct ranges_child {
	uint64_t end;
	struct ranges_node *node;
};

struct jp_ranges {
	const struct jp_range_kind *kind;
	size_t refs;
	struct ranges_node *root; /* NULL: no ranges */
};

struct jp_ranges *jp_ranges_of(const struct jp_range_kind *kind)
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

static struct ranges_child *children(const struct ranges_node *node)
{
	return (struct ranges_child *)node->words;
}

static void free_node(struct ranges_node *node)
{
	if (--node->refs)
		return;
	for (size_t i = 0; node->level && i < node->count; i++)
		free_node(children(node)[i].node);
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

static size_t size_in(const struct jp_range_kind *kind, const struct ranges_node *node)
{
	return node->level ? sizeof(struct ranges_child) : kind->size;
}

/* The range, or the struct ranges_child. */
static void *at(const struct jp_range_kind *kind, const struct ranges_node *node, size_t index)
{
	return (char *)node->words + index * size_in(kind, node);
}

static struct extent *range_at(const struct jp_range_kind *kind, const struct ranges_node *node,
			       size_t index)
{
	return at(kind, node, index);
}

static uint64_t last_end(const struct jp_range_kind *kind, const struct ranges_node *node)
{
	return node->level ? children(node)[node->count - 1].end
			   : range_at(kind, node, node->count - 1)->end;
}

/* Of what @node holds, the first that ends above @addr; its count: none does. */
static size_t find(const struct jp_range_kind *kind, const struct ranges_node *node, uint64_t addr)
{
	size_t i;

	if (node->level)
		jp_search(i, node->count, children(node)[i].end <= addr);
	else
		jp_search(i, node->count, range_at(kind, node, i)->end <= addr);
	return i;
}

void *jp_ranges_from(const struct jp_ranges *ranges, uint64_t addr)
{
	const struct ranges_node *node = ranges->root;
	size_t i = node ? find(ranges->kind, node, addr) : 0;

	while (node && node->level && i < node->count) {
		node = children(node)[i].node;
		i = find(ranges->kind, node, addr);
	}
	return node && i < node->count ? at(ranges->kind, node, i) : NULL;
}

void *jp_ranges_before(const struct jp_ranges *ranges, uint64_t addr)
{
	const struct ranges_node *node = ranges->root, *before = NULL;
	size_t last = 0;

	while (node) {
		const size_t i = find(ranges->kind, node, addr);

		if (i) {
			before = node;
			last = i - 1;
		}
		node = node->level && i < node->count ? children(node)[i].node : NULL;
	}
	while (before && before->level) {
		before = children(before)[last].node;
		last = before->count - 1;
	}
	return before ? at(ranges->kind, before, last) : NULL;
}

static struct ranges_node *new_node(const struct jp_range_kind *kind, uint32_t level,
				    size_t capacity)
{
	const size_t size = level ? sizeof(struct ranges_child) : kind->size;
	struct ranges_node *node = malloc(sizeof(*node) + capacity * size);

	if (node)
		*node = (struct ranges_node){.refs = 1, .level = level, .capacity = capacity};
	return node;
}

/* Makes *@ranges the only reference; its nodes may be shared still. */
static int own(struct jp_ranges **ranges)
{
	struct jp_ranges *old = *ranges, *copy;

	if (old->refs == 1)
		return 0;
	copy = jp_ranges_of(old->kind);
	if (!copy)
		return -ENOMEM;
	copy->root = old->root;
	if (copy->root)
		copy->root->refs++;
	jp_ranges_free(old);
	*ranges = copy;
	return 0;
}

/* The node in *@place, alone and with a capacity of @capacity at least, which is one more than its
 * count or less; NULL: no memory. What is below may be shared still. */
static struct ranges_node *own_node(const struct jp_range_kind *kind, struct ranges_node **place,
				    size_t capacity)
{
	struct ranges_node *node = *place, *fresh;
	const bool shared = node->refs > 1;

	if (!shared && node->capacity >= capacity)
		return node;
	fresh = new_node(kind, node->level,
			 shared ? jp_max(capacity, node->count) : jp_min(2 * node->capacity, MOST));
	if (!fresh)
		return NULL;
	fresh->count = node->count;
	memcpy(fresh->words, node->words, node->count * size_in(kind, node));
	for (size_t i = 0; shared && node->level && i < node->count; i++)
		children(node)[i].node->refs++;
	if (shared)
		node->refs--;
	else
		free(node);
	return *place = fresh;
}

void *jp_ranges_own(struct jp_ranges **ranges, uint64_t addr)
{
	struct ranges_node **place, *node;

	if (!jp_ranges_from(*ranges, addr) || own(ranges))
		return NULL;
	for (place = &(*ranges)->root; (node = own_node((*ranges)->kind, place, 0));) {
		const size_t i = find((*ranges)->kind, node, addr);

		if (!node->level)
			return at((*ranges)->kind, node, i);
		place = &children(node)[i].node;
	}
	return NULL;
}

/* Of a @node that is alone, and has the capacity. */
static void *insert_at(const struct jp_range_kind *kind, struct ranges_node *node, size_t index)
{
	memmove(at(kind, node, index + 1), at(kind, node, index),
		(node->count - index) * size_in(kind, node));
	node->count++;
	return at(kind, node, index);
}

static void remove_at(const struct jp_range_kind *kind, struct ranges_node *node, size_t index)
{
	node->count--;
	memmove(at(kind, node, index), at(kind, node, index + 1),
		(node->count - index) * size_in(kind, node));
}

/* Divides the full node @i of @parent, where another range is to begin at @addr. Addresses mostly
 * ascend, or descend, as mmap() gives them: what is full nearly stays so then; else half of it
 * moves. */
static int split(const struct jp_range_kind *kind, struct ranges_node *parent, size_t i,
		 uint64_t addr)
{
	struct ranges_node *full = own_node(kind, &children(parent)[i].node, 0), *next;
	const size_t where = full ? find(kind, full, addr) : 0;
	const size_t kept = !where ? 1 : where >= MOST - 1 ? MOST - 1 : MOST / 2;

	next = full ? new_node(kind, full->level, MOST - kept + 1) : NULL;
	if (!next)
		return -ENOMEM;
	next->count = MOST - kept;
	memcpy(next->words, at(kind, full, kept), next->count * size_in(kind, full));
	full->count = kept;
	children(parent)[i].end = last_end(kind, full);
	*(struct ranges_child *)insert_at(kind, parent, i + 1) =
		(struct ranges_child){last_end(kind, next), next};
	return 0;
}

static int add_root(struct jp_ranges *ranges)
{
	struct ranges_node *old = ranges->root;
	struct ranges_node *root = new_node(ranges->kind, old ? old->level + 1 : 0, FEWEST);

	if (!root)
		return -ENOMEM;
	if (old)
		*(struct ranges_child *)insert_at(ranges->kind, root, 0) =
			(struct ranges_child){last_end(ranges->kind, old), old};
	ranges->root = root;
	return 0;
}

/* Where nothing lies. Full nodes are divided on the way down: there is room above each. */
static int insert(struct jp_ranges *ranges, const struct extent *range)
{
	const struct jp_range_kind *kind = ranges->kind;
	struct ranges_node **place, *node;

	if ((!ranges->root || ranges->root->count == MOST) && add_root(ranges))
		return -ENOMEM;
	for (place = &ranges->root; (node = own_node(kind, place, (*place)->count + 1));) {
		size_t i = find(kind, node, range->start);

		if (!node->level) {
			memcpy(insert_at(kind, node, i), range, kind->size);
			return 0;
		}
		/* Behind all: at the end of the last one. */
		i = jp_min(i, node->count - 1);
		if (children(node)[i].node->count == MOST) {
			if (split(kind, node, i, range->start))
				return -ENOMEM;
			i = jp_min(find(kind, node, range->start), i + 1);
		}
		children(node)[i].end = jp_max(children(node)[i].end, range->end);
		place = &children(node)[i].node;
	}
	return -ENOMEM;
}

/* The first range below @node that ends above @addr ends at @end now, or is gone. All on the way to
 * it is alone. */
static void shorten(const struct jp_range_kind *kind, struct ranges_node *node, uint64_t addr,
		    uint64_t end)
{
	const size_t i = find(kind, node, addr);
	bool gone;

	if (node->level) {
		struct ranges_child *child = &children(node)[i];

		shorten(kind, child->node, addr, end);
		gone = !child->node->count;
		if (gone)
			free(child->node);
		else
			child->end = last_end(kind, child->node);
	} else {
		gone = range_at(kind, node, i)->start >= end;
		range_at(kind, node, i)->end = end;
	}
	if (gone)
		remove_at(kind, node, i);
}

/* The same in all, which are alone on the way. */
static void cut(struct jp_ranges *ranges, uint64_t addr, uint64_t end)
{
	struct ranges_node *root = ranges->root;

	shorten(ranges->kind, root, addr, end);
	if (!root->count)
		ranges->root = NULL;
	else if (root->level && root->count == 1)
		ranges->root = children(root)[0].node;
	if (ranges->root != root)
		free(root);
}

static void begin_at(const struct jp_range_kind *kind, struct extent *range, uint64_t start)
{
	uint64_t by = start - range->start;

	range->start = start;
	if (kind->advance)
		kind->advance(range, by);
}

/* A hole in one range: what is behind it becomes another. */
static int pierce(struct jp_ranges *ranges, const struct extent *range, uint64_t start,
		  uint64_t end)
{
	uint64_t behind[MOST_BYTES / sizeof(uint64_t)];

	memcpy(behind, range, ranges->kind->size);
	begin_at(ranges->kind, (struct extent *)behind, end);
	cut(ranges, start, start);
	return insert(ranges, (struct extent *)behind);
}

int jp_ranges_clear(struct jp_ranges **ranges, uint64_t start, uint64_t end)
{
	struct extent *range;

	while (start < end && (range = jp_ranges_from(*ranges, start)) && range->start < end) {
		range = jp_ranges_own(ranges, start);
		if (!range)
			return -ENOMEM;
		if (range->end <= end)
			cut(*ranges, start, start);
		else if (range->start < start)
			return pierce(*ranges, range, start, end);
		else
			begin_at((*ranges)->kind, range, end);
	}
	return 0;
}

int jp_ranges_put(struct jp_ranges **ranges, const void *fresh)
{
	const struct jp_range_kind *kind = (*ranges)->kind;
	uint64_t bytes[MOST_BYTES / sizeof(uint64_t)];
	struct extent *range = (struct extent *)bytes;
	const struct extent *before, *after;
	int failed;

	memcpy(range, fresh, kind->size);
	if (range->start >= range->end)
		return 0;
	failed = jp_ranges_clear(ranges, range->start, range->end);
	if (failed || !kind->same)
		return failed ?: own(ranges) ?: insert(*ranges, range);
	before = jp_ranges_before(*ranges, range->start);
	after = jp_ranges_from(*ranges, range->end);
	if (before && before->end == range->start && kind->same(before, range))
		range->start = before->start;
	if (after && after->start == range->end && kind->same(range, after))
		range->end = after->end;
	return jp_ranges_clear(ranges, range->start, range->end)
		       ?: own(ranges) ?: insert(*ranges, range);
}

static bool same_value(const void *one, const void *next)
{
	return ((const struct jp_range *)one)->value == ((const struct jp_range *)next)->value;
}

struct jp_ranges *jp_ranges_new(void)
{
	static const struct jp_range_kind values = {.size = sizeof(struct jp_range),
						    .same = same_value};

	return jp_ranges_of(&values);
}

int jp_ranges_set(struct jp_ranges **ranges, uint64_t start, uint64_t end, uint32_t value)
{
	return value ? jp_ranges_put(ranges, &(struct jp_range){start, end, value})
		     : jp_ranges_clear(ranges, start, end);
}

struct jp_range jp_ranges_at(const struct jp_ranges *ranges, uint64_t addr)
{
	const struct jp_range *range = jp_ranges_from(ranges, addr);

	if (!range)
		return (struct jp_range){addr, UINT64_MAX, 0};
	if (range->start > addr)
		return (struct jp_range){addr, range->start, 0};
	return *range;
}
