// SPDX-License-Identifier: GPL-2.0-only
#include "harness/model/space/ranges.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/array.h"
#include "harness/base/search.h"

/* Blocks of a bounded size keep an insertion among 100,000 ranges cheap wherever it falls. */
enum { FEWEST = 8, BLOCK = 256, MOST_BYTES = 192 };

/* What every range begins with. */
struct extent {
	uint64_t start, end;
};

struct block {
	size_t refs, count, capacity; /* count: never 0 */
	char bytes[];
};

struct jp_ranges {
	const struct jp_range_kind *kind;
	size_t refs;
	struct block **blocks;
	size_t count, capacity;
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

static void free_block(struct block *block)
{
	if (!--block->refs)
		free(block);
}

void jp_ranges_free(struct jp_ranges *ranges)
{
	if (!ranges || --ranges->refs)
		return;
	for (size_t i = 0; i < ranges->count; i++)
		free_block(ranges->blocks[i]);
	free(ranges->blocks);
	free(ranges);
}

static struct extent *at(const struct jp_ranges *ranges, const struct block *block, size_t index)
{
	return (struct extent *)(block->bytes + index * ranges->kind->size);
}

/* Makes *@ranges the only reference; its blocks may be shared still. */
static int own(struct jp_ranges **ranges)
{
	struct jp_ranges *old = *ranges, *copy;

	if (old->refs == 1)
		return 0;
	copy = jp_ranges_of(old->kind);
	if (!copy || !jp_array_reserve(&copy->blocks, &copy->capacity, old->count)) {
		free(copy);
		return -ENOMEM;
	}
	for (; copy->count < old->count; copy->count++) {
		copy->blocks[copy->count] = old->blocks[copy->count];
		copy->blocks[copy->count]->refs++;
	}
	jp_ranges_free(old);
	*ranges = copy;
	return 0;
}

/* The block @i, alone and with a capacity of @capacity at least, which is one more than its count
 * or less; NULL: no memory. */
static struct block *own_block(struct jp_ranges *ranges, size_t i, size_t capacity)
{
	struct block *block = ranges->blocks[i], *fresh;

	if (block->refs == 1 && block->capacity >= capacity)
		return block;
	capacity = capacity <= block->capacity ? block->capacity : block->capacity * 2;
	fresh = malloc(sizeof(*fresh) + capacity * ranges->kind->size);
	if (!fresh)
		return NULL;
	*fresh = (struct block){1, block->count, capacity};
	memcpy(fresh->bytes, block->bytes, block->count * ranges->kind->size);
	free_block(block);
	return ranges->blocks[i] = fresh;
}

/* Where the first range that ends after @addr is; block == count: none does. */
struct range_place {
	size_t block, index;
};

static struct range_place find(const struct jp_ranges *ranges, uint64_t addr)
{
	const struct block *block;
	struct range_place place;

	jp_search(place.block, ranges->count,
		  (block = ranges->blocks[place.block],
		   at(ranges, block, block->count - 1)->end <= addr));
	block = place.block < ranges->count ? ranges->blocks[place.block] : NULL;
	jp_search(place.index, block ? block->count : 0,
		  at(ranges, block, place.index)->end <= addr);
	return place;
}

static struct extent *range_at(const struct jp_ranges *ranges, struct range_place place)
{
	return place.block < ranges->count ? at(ranges, ranges->blocks[place.block], place.index)
					   : NULL;
}

void *jp_ranges_from(const struct jp_ranges *ranges, uint64_t addr)
{
	return range_at(ranges, find(ranges, addr));
}

void *jp_ranges_before(const struct jp_ranges *ranges, uint64_t addr)
{
	struct range_place place = find(ranges, addr);

	if (place.index)
		place.index--;
	else if (place.block)
		place.index = ranges->blocks[--place.block]->count - 1;
	else
		return NULL;
	return range_at(ranges, place);
}

void *jp_ranges_own(struct jp_ranges **ranges, uint64_t addr)
{
	struct range_place place = find(*ranges, addr);

	if (place.block == (*ranges)->count || own(ranges) || !own_block(*ranges, place.block, 0))
		return NULL;
	return range_at(*ranges, place);
}

static int insert_block(struct jp_ranges *ranges, size_t i, size_t capacity)
{
	struct block *block = malloc(sizeof(*block) + capacity * ranges->kind->size);

	if (!block || !jp_array_reserve(&ranges->blocks, &ranges->capacity, ranges->count + 1)) {
		free(block);
		return -ENOMEM;
	}
	*block = (struct block){1, 0, capacity};
	memmove(&ranges->blocks[i + 1], &ranges->blocks[i],
		(ranges->count - i) * sizeof(*ranges->blocks));
	ranges->blocks[i] = block;
	ranges->count++;
	return 0;
}

/* Makes room in the full block of *@place, whose half may move to a new one behind it. */
static int split(struct jp_ranges *ranges, struct range_place *place)
{
	/* Addresses mostly ascend: what is full stays full then. */
	size_t kept = place->index == BLOCK ? BLOCK : BLOCK / 2;
	struct block *full, *next;

	if (insert_block(ranges, place->block + 1, BLOCK))
		return -ENOMEM;
	full = ranges->blocks[place->block];
	next = ranges->blocks[place->block + 1];
	next->count = BLOCK - kept;
	memcpy(next->bytes, at(ranges, full, kept), next->count * ranges->kind->size);
	full->count = kept;
	if (place->index > kept || kept == BLOCK)
		*place = (struct range_place){place->block + 1, place->index - kept};
	return 0;
}

static int insert(struct jp_ranges *ranges, struct range_place place, const void *range)
{
	const size_t size = ranges->kind->size;
	struct block *block;

	if (!ranges->count && insert_block(ranges, 0, FEWEST))
		return -ENOMEM;
	/* Behind all: at the end of the last block. */
	if (place.block == ranges->count) {
		place.block--;
		place.index = ranges->blocks[place.block]->count;
	}
	block = ranges->blocks[place.block];
	block = own_block(ranges, place.block, block->count < BLOCK ? block->count + 1 : BLOCK);
	if (!block || (block->count == BLOCK && split(ranges, &place)))
		return -ENOMEM;
	block = ranges->blocks[place.block];
	memmove(at(ranges, block, place.index + 1), at(ranges, block, place.index),
		(block->count - place.index) * size);
	memcpy(at(ranges, block, place.index), range, size);
	block->count++;
	return 0;
}

/* Of a block that is not shared. */
static void drop(struct jp_ranges *ranges, struct range_place place)
{
	struct block *block = ranges->blocks[place.block];

	block->count--;
	memmove(at(ranges, block, place.index), at(ranges, block, place.index + 1),
		(block->count - place.index) * ranges->kind->size);
	if (block->count)
		return;
	free_block(block);
	ranges->count--;
	memmove(&ranges->blocks[place.block], &ranges->blocks[place.block + 1],
		(ranges->count - place.block) * sizeof(block));
}

static void begin_at(const struct jp_ranges *ranges, struct extent *range, uint64_t start)
{
	uint64_t by = start - range->start;

	range->start = start;
	if (ranges->kind->advance)
		ranges->kind->advance(range, by);
}

/* A hole in one range: what is behind it becomes another. */
static int pierce(struct jp_ranges *ranges, struct range_place place, uint64_t start, uint64_t end)
{
	uint64_t first = range_at(ranges, place)->start;
	char copy[MOST_BYTES]; /* an insertion moves what is there */
	int failed;

	memcpy(copy, range_at(ranges, place), ranges->kind->size);
	failed = insert(ranges, (struct range_place){place.block, place.index + 1}, copy);
	if (failed)
		return failed;
	range_at(ranges, find(ranges, first))->end = start;
	/* Both had the same end: the first one that is above @start is the second now. */
	begin_at(ranges, range_at(ranges, find(ranges, start)), end);
	return 0;
}

/* Leaves in *@place where a range that fills the gap belongs. */
static int clear(struct jp_ranges *ranges, uint64_t start, uint64_t end, struct range_place *place)
{
	for (;;) {
		struct extent *range;
		int failed;

		*place = find(ranges, start);
		range = range_at(ranges, *place);
		if (!range || range->start >= end)
			return 0;
		if (!own_block(ranges, place->block, 0))
			return -ENOMEM;
		range = range_at(ranges, *place);
		if (range->start < start && range->end > end) {
			failed = pierce(ranges, *place, start, end);
			if (failed)
				return failed;
		} else if (range->start < start) {
			range->end = start;
		} else if (range->end > end) {
			begin_at(ranges, range, end);
		} else {
			drop(ranges, *place);
		}
	}
}

int jp_ranges_clear(struct jp_ranges **ranges, uint64_t start, uint64_t end)
{
	struct range_place place;

	if (start >= end)
		return 0;
	return own(ranges) ?: clear(*ranges, start, end, &place);
}

/* The neighbour in @place, not shared, if it is one with @range; or NULL. */
static struct extent *neighbour(struct jp_ranges *ranges, struct range_place place,
				const struct extent *range, bool before, int *failed)
{
	struct extent *found = range_at(ranges, place);

	if (!found || (before ? found->end != range->start || !ranges->kind->same(found, range)
			      : found->start != range->end || !ranges->kind->same(range, found)))
		return NULL;
	if (!own_block(ranges, place.block, 0))
		*failed = -ENOMEM;
	return range_at(ranges, place);
}

int jp_ranges_put(struct jp_ranges **ranges, const void *fresh)
{
	const struct extent *range = fresh;
	struct extent *before, *after;
	struct range_place place;
	struct jp_ranges *all;
	int failed;

	if (range->start >= range->end)
		return 0;
	failed = own(ranges) ?: clear(*ranges, range->start, range->end, &place);
	if (failed)
		return failed;
	all = *ranges;
	if (!all->kind->same)
		return insert(all, place, fresh);
	before = range->start ? neighbour(all, find(all, range->start - 1), range, true, &failed)
			      : NULL;
	after = neighbour(all, place, range, false, &failed);
	if (failed)
		return failed;
	if (!before && !after)
		return insert(all, place, fresh);
	if (!before) {
		after->start = range->start;
	} else if (!after) {
		before->end = range->end;
	} else {
		before->end = after->end;
		drop(all, place);
	}
	return 0;
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
