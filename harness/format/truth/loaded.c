// SPDX-License-Identifier: GPL-2.0-only
#include "harness/format/truth/loaded.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/base/array.h"
#include "harness/base/order.h"
#include "harness/base/search.h"
#include "harness/format/truth/format.h"

/* Number of records per read. */
enum { BATCH = 256 };

/* Returns the index of the first range that ends at @addr or above. */
static size_t find_range(const struct jp_truth_loaded *ranges, uint64_t addr)
{
	size_t i;

	jp_search(i, ranges->count, ranges->ranges[i].end < addr);
	return i;
}

static int add_range(struct jp_truth_loaded *ranges, uint64_t start, uint64_t size)
{
	struct jp_loaded_range merged = {start, start + size};
	const size_t first = find_range(ranges, start);
	size_t nr_kept = first;

	if (merged.end <= start)
		return 0;
	for (; nr_kept < ranges->count && ranges->ranges[nr_kept].start <= merged.end; nr_kept++) {
		merged.start = jp_min(merged.start, ranges->ranges[nr_kept].start);
		merged.end = jp_max(merged.end, ranges->ranges[nr_kept].end);
	}
	if (nr_kept == first && !jp_array_push(&ranges->ranges, &ranges->count, &ranges->capacity))
		return -ENOMEM;
	/* Replace the joined ranges by a single one, or insert a new one. */
	memmove(&ranges->ranges[first + 1], &ranges->ranges[nr_kept],
		(ranges->count - (nr_kept == first) - nr_kept) * sizeof(merged));
	ranges->count -= nr_kept == first ? 0 : nr_kept - first - 1;
	ranges->ranges[first] = merged;
	return 0;
}

static int add_record(struct jp_truth_loaded *ranges, const struct jp_truth_record *record)
{
	const bool moves = record->type == JP_TRUTH_CODE_MOVE;
	uint64_t *size;

	if ((!moves && record->type != JP_TRUTH_CODE_LOAD) || jp_truth_seal(record) != record->seal)
		return 0;
	if (moves) {
		size = jp_map_find(&ranges->sizes, record->move.function);
		return size ? add_range(ranges, record->move.addr, *size) : 0;
	}
	size = jp_map_at(&ranges->sizes, record->load.function, sizeof(*size));
	if (!size)
		return -ENOMEM;
	*size = record->load.size;
	return add_range(ranges, record->load.addr, *size);
}

int jp_truth_loaded_read(struct jp_truth_loaded *ranges, int fd)
{
	struct jp_truth_record records[BATCH];
	struct jp_truth_header header;
	uint64_t slot = ranges->settled, last;
	int ret = 0;

	if (fd < 0 || pread(fd, &header, sizeof(header), 0) != sizeof(header) ||
	    memcmp(header.magic, JP_TRUTH_MAGIC, sizeof(header.magic)) != 0)
		return 0;
	last = jp_min(header.next_slot, header.capacity);
	while (slot < last && !ret) {
		const size_t wanted_size = jp_min(last - slot, BATCH) * sizeof(*records);
		const ssize_t nr_read = pread(fd, records, wanted_size,
					      (off_t)(JP_TRUTH_PAGE + slot * sizeof(*records)));

		if (nr_read < (ssize_t)sizeof(*records))
			break;
		for (ssize_t i = 0; i < nr_read / (ssize_t)sizeof(*records) && !ret; i++, slot++) {
			if (records[i].seal)
				ret = add_record(ranges, &records[i]);
			/* A slot that is still being filled is read again by the next call, and so
			 * are the slots after it. */
			ranges->settled += records[i].seal && ranges->settled == slot;
		}
	}
	return ret;
}

bool jp_truth_loaded_contains(const struct jp_truth_loaded *ranges, uint64_t addr)
{
	const size_t i = find_range(ranges, addr + 1);

	return i < ranges->count && ranges->ranges[i].start <= addr;
}

void jp_truth_loaded_free(struct jp_truth_loaded *ranges)
{
	free(ranges->ranges);
	jp_map_free(&ranges->sizes);
}
