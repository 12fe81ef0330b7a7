// SPDX-License-Identifier: GPL-2.0-only
#include "harness/model/space/ranges.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Blocks of a bounded size keep an insertion among 100,000 ranges cheap wherever it falls. */
enum { BLOCK = 256 };

struct block {
	size_t count; /* never 0 */
	struct jp_range ranges[BLOCK];
};

struct jp_ranges {
	size_t refs;
	struct block **blocks;
	size_t count, capacity;
};

struct jp_ranges *jp_ranges_new(void)
{
	struct jp_ranges *ranges = calloc(1, sizeof(*ranges));

	if (ranges)
		ranges->refs = 1;
	return ranges;
}

struct jp_ranges *jp_ranges_share(struct jp_ranges *ranges)
{
	ranges->refs++;
	return ranges;
}

void jp_ranges_free(struct jp_ranges *ranges)
{
	if (!ranges || --ranges->refs)
		return;
	for (size_t i = 0; i < ranges->count; i++)
		free(ranges->blocks[i]);
	free(ranges->blocks);
	free(ranges);
}

/* Makes *@ranges the only reference. */
static int own(struct jp_ranges **ranges)
{
	struct jp_ranges *old = *ranges, *copy;

	if (old->refs == 1)
		return 0;
	copy = jp_ranges_new();
	if (!copy)
		return -ENOMEM;
	copy->capacity = old->count;
	copy->blocks = calloc(copy->capacity + 1, sizeof(struct block *));
	for (; copy->blocks && copy->count < old->count; copy->count++) {
		copy->blocks[copy->count] = malloc(sizeof(struct block));
		if (!copy->blocks[copy->count])
			break;
		*copy->blocks[copy->count] = *old->blocks[copy->count];
	}
	if (!copy->blocks || copy->count < old->count) {
		jp_ranges_free(copy);
		return -ENOMEM;
	}
	jp_ranges_free(old);
	*ranges = copy;
	return 0;
}

/* Where the first range that ends after @addr is; block == count: none does. */
struct place {
	size_t block, index;
};

static struct place find(const struct jp_ranges *ranges, uint64_t addr)
{
	size_t low = 0, high = ranges->count;
	struct place place = {0};
	const struct block *block;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		block = ranges->blocks[middle];
		if (block->ranges[block->count - 1].end <= addr)
			low = middle + 1;
		else
			high = middle;
	}
	place.block = low;
	if (low == ranges->count)
		return place;
	block = ranges->blocks[low];
	for (low = 0, high = block->count; low < high;) {
		size_t middle = low + (high - low) / 2;

		if (block->ranges[middle].end <= addr)
			low = middle + 1;
		else
			high = middle;
	}
	place.index = low;
	return place;
}

static struct jp_range *range_at(const struct jp_ranges *ranges, struct place place)
{
	return place.block < ranges->count ? &ranges->blocks[place.block]->ranges[place.index]
					   : NULL;
}

static int insert_block(struct jp_ranges *ranges, size_t at)
{
	struct block *block = malloc(sizeof(*block));

	if (ranges->count == ranges->capacity) {
		size_t capacity = ranges->capacity ? ranges->capacity * 2 : 16;
		struct block **grown = realloc(ranges->blocks, capacity * sizeof(*grown));

		if (!grown) {
			free(block);
			return -ENOMEM;
		}
		ranges->blocks = grown;
		ranges->capacity = capacity;
	}
	if (!block)
		return -ENOMEM;
	block->count = 0;
	memmove(&ranges->blocks[at + 1], &ranges->blocks[at],
		(ranges->count - at) * sizeof(*ranges->blocks));
	ranges->blocks[at] = block;
	ranges->count++;
	return 0;
}

static int insert(struct jp_ranges *ranges, struct place place, struct jp_range range)
{
	struct block *block;

	/* Behind all: at the end of the last block. */
	if (place.block == ranges->count && ranges->count) {
		place.block--;
		place.index = ranges->blocks[place.block]->count;
	}
	if (!ranges->count) {
		if (insert_block(ranges, 0))
			return -ENOMEM;
	} else if (ranges->blocks[place.block]->count == BLOCK) {
		/* Addresses mostly ascend: what is full stays full then. */
		size_t kept = place.index == BLOCK ? BLOCK : BLOCK / 2;
		struct block *full, *next;

		if (insert_block(ranges, place.block + 1))
			return -ENOMEM;
		full = ranges->blocks[place.block];
		next = ranges->blocks[place.block + 1];
		next->count = BLOCK - kept;
		memcpy(next->ranges, full->ranges + kept, next->count * sizeof(range));
		full->count = kept;
		if (place.index > kept || kept == BLOCK)
			place = (struct place){place.block + 1, place.index - kept};
	}
	block = ranges->blocks[place.block];
	memmove(&block->ranges[place.index + 1], &block->ranges[place.index],
		(block->count - place.index) * sizeof(range));
	block->ranges[place.index] = range;
	block->count++;
	return 0;
}

static void drop(struct jp_ranges *ranges, struct place place)
{
	struct block *block = ranges->blocks[place.block];

	block->count--;
	memmove(&block->ranges[place.index], &block->ranges[place.index + 1],
		(block->count - place.index) * sizeof(struct jp_range));
	if (block->count)
		return;
	free(block);
	ranges->count--;
	memmove(&ranges->blocks[place.block], &ranges->blocks[place.block + 1],
		(ranges->count - place.block) * sizeof(block));
}

/* Takes [@start, @end) out of what is there. */
static int clear(struct jp_ranges *ranges, uint64_t start, uint64_t end)
{
	for (;;) {
		struct place place = find(ranges, start);
		struct jp_range *range = range_at(ranges, place);

		if (!range || range->start >= end)
			return 0;
		if (range->start < start && range->end > end) {
			struct jp_range tail = {end, range->end, range->value};

			/* First what may fail. */
			if (insert(ranges, (struct place){place.block, place.index + 1}, tail))
				return -ENOMEM;
			place = find(ranges, start);
			range_at(ranges, place)->end = start;
			return 0;
		}
		if (range->start < start)
			range->end = start;
		else if (range->end > end)
			range->start = end;
		else
			drop(ranges, place);
	}
}

int jp_ranges_set(struct jp_ranges **ranges, uint64_t start, uint64_t end, uint32_t value)
{
	struct jp_range *before, *after;

	if (start >= end)
		return 0;
	if (own(ranges) || clear(*ranges, start, end))
		return -ENOMEM;
	if (!value)
		return 0;
	before = start ? range_at(*ranges, find(*ranges, start - 1)) : NULL;
	if (before && (before->end != start || before->value != value))
		before = NULL;
	after = range_at(*ranges, find(*ranges, end));
	if (after && (after->start != end || after->value != value))
		after = NULL;
	if (before && after) {
		end = after->end;
		drop(*ranges, find(*ranges, after->start));
		range_at(*ranges, find(*ranges, start - 1))->end = end;
	} else if (before) {
		before->end = end;
	} else if (after) {
		after->start = start;
	} else {
		return insert(*ranges, find(*ranges, start), (struct jp_range){start, end, value});
	}
	return 0;
}

struct jp_range jp_ranges_at(const struct jp_ranges *ranges, uint64_t addr)
{
	const struct jp_range *range = range_at(ranges, find(ranges, addr));

	if (!range)
		return (struct jp_range){addr, UINT64_MAX, 0};
	if (range->start > addr)
		return (struct jp_range){addr, range->start, 0};
	return *range;
}
