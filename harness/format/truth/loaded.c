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
static size_t find_range(const struct jp_truth_loaded *loaded, uint64_t addr)
{
	size_t i;

	jp_search(i, loaded->count, loaded->ranges[i].end < addr);
	return i;
}

static int add_range(struct jp_truth_loaded *loaded, uint64_t start, uint64_t size)
{
	struct jp_loaded_range all = {start, start + size};
	const size_t from = find_range(loaded, start);
	size_t to = from;

	if (all.end <= start)
		return 0;
	for (; to < loaded->count && loaded->ranges[to].start <= all.end; to++) {
		all.start = jp_min(all.start, loaded->ranges[to].start);
		all.end = jp_max(all.end, loaded->ranges[to].end);
	}
	if (to == from && !jp_array_push(&loaded->ranges, &loaded->count, &loaded->capacity))
		return -ENOMEM;
	/* Replace the joined ranges by a single one, or insert a new one. */
	memmove(&loaded->ranges[from + 1], &loaded->ranges[to],
		(loaded->count - (to == from) - to) * sizeof(all));
	loaded->count -= to == from ? 0 : to - from - 1;
	loaded->ranges[from] = all;
	return 0;
}

static int add_record(struct jp_truth_loaded *loaded, const struct jp_truth_record *record)
{
	const bool moves = record->type == JP_TRUTH_CODE_MOVE;
	uint64_t *size;

	if ((!moves && record->type != JP_TRUTH_CODE_LOAD) || jp_truth_seal(record) != record->seal)
		return 0;
	if (moves) {
		size = jp_map_find(&loaded->sizes, record->move.function);
		return size ? add_range(loaded, record->move.addr, *size) : 0;
	}
	size = jp_map_at(&loaded->sizes, record->load.function, sizeof(*size));
	if (!size)
		return -ENOMEM;
	*size = record->load.size;
	return add_range(loaded, record->load.addr, *size);
}

int jp_truth_loaded_read(struct jp_truth_loaded *loaded, int fd)
{
	struct jp_truth_record records[BATCH];
	struct jp_truth_header header;
	uint64_t slot = loaded->settled, last;
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
				ret = add_record(loaded, &records[i]);
			/* A slot that is still being filled is read again by the next call, and so
			 * are the slots after it. */
			loaded->settled += records[i].seal && loaded->settled == slot;
		}
	}
	return ret;
}

bool jp_truth_loaded_contains(const struct jp_truth_loaded *loaded, uint64_t addr)
{
	const size_t i = find_range(loaded, addr + 1);

	return i < loaded->count && loaded->ranges[i].start <= addr;
}

void jp_truth_loaded_free(struct jp_truth_loaded *loaded)
{
	free(loaded->ranges);
	jp_map_free(&loaded->sizes);
}
