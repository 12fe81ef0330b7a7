// SPDX-License-Identifier: GPL-2.0-only
#include "harness/model/space/ranges.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/array.h"
#include "harness/base/search.h"

/* Blocks of a bounded size keep an insertion cheap wherever it falls, and a copy on write small. */
enum { FEWEST = 2, BLOCK = 64, MOST_BYTES = 192 };

/* What every range begins with. */
struct extent {
	uint64_t start, end;
};

struct block {
	size_t refs, count, capacity; /* count: never 0 */
	char bytes[];
};

/* Beside its block stands where the last range of it ends: the search reads nothing else. */
struct slot {
	uint64_t end;
	struct block *block;
};

struct jp_ranges {
	const struct jp_range_kind *kind;
	size_t refs;
	struct slot *slots;
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
		free_block(ranges->slots[i].block);
	free(ranges->slots);
	free(ranges);
}

static struct extent *at(const struct jp_ranges *ranges, const struct block *block, size_t index)
{
	return (struct extent *)(block->bytes + index * ranges->kind->size);
}

static struct block *block_at(const struct jp_ranges *ranges, size_t i)
{
	return ranges->slots[i].block;
}

/* After a change of block @i. */
static void note_end(struct jp_ranges *ranges, size_t i)
{
	const struct block *block = block_at(ranges, i);

	ranges->slots[i].end = at(ranges, block, block->count - 1)->end;
}

/* Makes *@ranges the only reference; its blocks may be shared still. */
static int own(struct jp_ranges **ranges)
{
	struct jp_ranges *old = *ranges, *copy;

	if (old->refs == 1)
		return 0;
	copy = jp_ranges_of(old->kind);
	if (!copy || !jp_array_reserve(&copy->slots, &copy->capacity, old->count)) {
		free(copy);
		return -ENOMEM;
	}
	for (; copy->count < old->count; copy->count++) {
		copy->slots[copy->count] = old->slots[copy->count];
		copy->slots[copy->count].block->refs++;
	}
	jp_ranges_free(old);
	*ranges = copy;
	return 0;
}

/* The block @i, alone and with a capacity of @capacity at least, which is one more than its count
 * or less; NULL: no memory. */
static struct block *own_block(struct jp_ranges *ranges, size_t i, size_t capacity)
{
	struct block *block = block_at(ranges, i), *fresh;

	if (block->refs == 1 && block->capacity >= capacity)
		return block;
	capacity = capacity <= block->capacity ? block->capacity : block->capacity * 2;
	fresh = malloc(sizeof(*fresh) + capacity * ranges->kind->size);
	if (!fresh)
		return NULL;
	*fresh = (struct block){1, block->count, capacity};
	memcpy(fresh->bytes, block->bytes, block->count * ranges->kind->size);
	free_block(block);
	return ranges->slots[i].block = fresh;
}

/* Where the first range that ends after @addr is; block == count: none does. */
struct range_place {
	size_t block, index;
};

static struct range_place find(const struct jp_ranges *ranges, uint64_t addr)
{
	const struct block *block;
	struct range_place place;

	jp_search(place.block, ranges->count, ranges->slots[place.block].end <= addr);
	block = place.block < ranges->count ? block_at(ranges, place.block) : NULL;
	jp_search(place.index, block ? block->count : 0,
		  at(ranges, block, place.index)->end <= addr);
	return place;
}

static struct extent *range_at(const struct jp_ranges *ranges, struct range_place place)
{
	return place.block < ranges->count ? at(ranges, block_at(ranges, place.block), place.index)
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
		place.index = block_at(ranges, --place.block)->count - 1;
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

	if (!block || !jp_array_reserve(&ranges->slots, &ranges->capacity, ranges->count + 1)) {
		free(block);
		return -ENOMEM;
	}
	*block = (struct block){1, 0, capacity};
	memmove(&ranges->slots[i + 1], &ranges->slots[i],
		(ranges->count - i) * sizeof(*ranges->slots));
	ranges->slots[i] = (struct slot){0, block};
	ranges->count++;
	return 0;
}

/* Makes room in the full block of *@place, or in a new one beside it. Addresses mostly ascend, or
 * descend, as mmap() gives them: what is full stays full then; else half of it moves. */
static int split(struct jp_ranges *ranges, struct range_place *place)
{
	bool ends = !place->index || place->index == BLOCK;
	struct block *full, *next;

	if (insert_block(ranges, place->block + (place->index > 0), BLOCK))
		return -ENOMEM;
	if (!place->index)
		return 0;
	full = block_at(ranges, place->block);
	next = block_at(ranges, place->block + 1);
	if (!ends) {
		full->count = next->count = BLOCK / 2;
		memcpy(next->bytes, at(ranges, full, BLOCK / 2), BLOCK / 2 * ranges->kind->size);
		note_end(ranges, place->block);
		note_end(ranges, place->block + 1);
	}
	if (place->index > full->count || ends)
		*place = (struct range_place){place->block + 1, place->index - full->count};
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
		place.index = block_at(ranges, place.block)->count;
	}
	block = block_at(ranges, place.block);
	block = own_block(ranges, place.block, block->count < BLOCK ? block->count + 1 : BLOCK);
	if (!block || (block->count == BLOCK && split(ranges, &place)))
		return -ENOMEM;
	block = block_at(ranges, place.block);
	memmove(at(ranges, block, place.index + 1), at(ranges, block, place.index),
		(block->count - place.index) * size);
	memcpy(at(ranges, block, place.index), range, size);
	block->count++;
	note_end(ranges, place.block);
	return 0;
}

/* Of a block that is not shared. */
static void drop(struct jp_ranges *ranges, struct range_place place)
{
	struct block *block = block_at(ranges, place.block);

	block->count--;
	memmove(at(ranges, block, place.index), at(ranges, block, place.index + 1),
		(block->count - place.index) * ranges->kind->size);
	if (block->count) {
		note_end(ranges, place.block);
		return;
	}
	free_block(block);
	ranges->count--;
	memmove(&ranges->slots[place.block], &ranges->slots[place.block + 1],
		(ranges->count - place.block) * sizeof(*ranges->slots));
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
	place = find(ranges, first);
	range_at(ranges, place)->end = start;
	note_end(ranges, place.block);
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
			note_end(ranges, place->block);
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
	struct range_place place, place_before = {0};
	struct extent *before, *after;
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
	if (range->start)
		place_before = find(all, range->start - 1);
	before = range->start ? neighbour(all, place_before, range, true, &failed) : NULL;
	after = neighbour(all, place, range, false, &failed);
	if (failed)
		return failed;
	if (!before && !after)
		return insert(all, place, fresh);
	if (!before) {
		after->start = range->start;
		return 0;
	}
	before->end = after ? after->end : range->end;
	note_end(all, place_before.block);
	if (after)
		drop(all, place);
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
