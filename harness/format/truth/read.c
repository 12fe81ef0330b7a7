// SPDX-License-Identifier: GPL-2.0-only
#include "harness/format/truth/items.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "harness/base/cleanup.h"
#include "harness/base/file.h"
#include "harness/base/map.h"
#include "harness/base/sort.h"
#include "harness/base/untrusted_file.h"
#include "harness/format/truth/order.h"

/* Records of equal times keep the order of the file: all are in one array. */
JP_ORDER(compare_by_time, struct jp_truth_record *,
	 jp_compare((*a)->before, (*b)->before) ?: jp_compare(*a, *b));

/* types_of[version] is the first record type that the version does not have. */
static const uint16_t types_of[JP_TRUTH_VERSION + 1] = {
	[1] = JP_TRUTH_FRAMES, [2] = JP_TRUTH_MAPS, [3] = JP_TRUTH_TYPES};

/* Returns whether a word that records of its type do not use is not 0. */
static bool has_unused_word_set(const struct jp_truth_record *record)
{
	enum { WORDS = sizeof(record->a) / sizeof(*record->a) };
	/* used[type] is 1 + the number of words of the union that the type uses; 0: it uses all
	 * words. */
	static const uint8_t length[JP_TRUTH_TYPES] = {
		[JP_TRUTH_PROCESS_START] = 4, [JP_TRUTH_PROCESS_EXIT] = 1,
		[JP_TRUTH_THREAD_START] = 2,  [JP_TRUTH_THREAD_EXIT] = 1,
		[JP_TRUTH_PROTECT] = 4,       [JP_TRUTH_UNMAP] = 3,
		[JP_TRUTH_CODE_MOVE] = 3,     [JP_TRUTH_CODE_UNLOAD] = 2,
		[JP_TRUTH_MARK] = 3,          [JP_TRUTH_WAIT] = 3,
		[JP_TRUTH_MAPS] = 2,          [JP_TRUTH_COMM] = 2,
		[JP_TRUTH_GONE] = 1,
	};

	for (unsigned int i = length[record->type]; i && i <= WORDS; i++)
		if (record->a[i - 1])
			return true;
	return false;
}

/* Counts records of threads that no record starts. The start record may be later in the file. */
static int count_records_of_unstarted_threads(struct jp_truth_reader *reader)
{
	const struct jp_truth_items *items = reader->items;
	struct jp_map began = {0};
	int ret = 0;

	for (size_t i = 0; !ret && i < items->nr_records; i++) {
		const struct jp_truth_record *record = items->records[i];
		const uint64_t thread = (uint64_t)record->pid << 32 | record->tid;

		if ((record->type == JP_TRUTH_PROCESS_START ||
		     record->type == JP_TRUTH_THREAD_START) &&
		    !jp_map_at(&began, thread, 1))
			ret = -ENOMEM;
	}
	for (size_t i = 0; !ret && i < items->nr_records; i++) {
		const struct jp_truth_record *record = items->records[i];

		reader->strangers +=
			!jp_map_find(&began, (uint64_t)record->pid << 32 | record->tid);
	}
	jp_map_free(&began);
	return ret;
}

/* Collects the valid records of @count slots, and counts torn and corrupt ones. Returns 0 or
 * -ENOMEM. */
static int collect_records(struct jp_truth_reader *reader, size_t count)
{
	struct jp_truth_items *items = reader->items;
	uint64_t nr_torn = 0;

	items->records = calloc(count + 1, sizeof(struct jp_truth_record *));
	if (!items->records)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		struct jp_truth_record *record = &items->slots[i];

		if (!record->seal || record->seal != jp_truth_seal(record)) {
			nr_torn++;
			continue;
		}
		reader->torn += nr_torn;
		reader->gaps += nr_torn;
		nr_torn = 0;
		if (!record->type || record->type >= types_of[reader->version] ||
		    record->before > record->after || has_unused_word_set(record))
			jp_truth_mark_corrupt(reader);
		else
			items->records[items->nr_records++] = record;
	}
	reader->torn += nr_torn; /* a writer that was killed left them, so they are no gap */
	reader->records = items->nr_records;
	if (reader->version >= JP_TRUTH_VERSION_MAPS && jp_truth_check_order(reader))
		return -ENOMEM;
	jp_sort(items->records, items->nr_records, compare_by_time);
	return count_records_of_unstarted_threads(reader);
}

static int read_slots(struct jp_truth_reader *reader, int fd, const char *path,
		      struct jp_error *err)
{
	const size_t size = sizeof(struct jp_truth_record);
	struct jp_truth_header header;
	struct stat st;
	uint64_t length;
	int ret;

	if (fstat(fd, &st) < 0)
		return jp_fail(err, errno, "%s: %s", path, strerror(errno));
	if (!S_ISREG(st.st_mode))
		return jp_fail(err, EINVAL, "%s: not a regular file", path);
	ret = jp_file_read_at(fd, path, &header, sizeof(header), 0, err);
	if (ret)
		return ret;
	if (memcmp(header.magic, JP_TRUTH_MAGIC, sizeof(header.magic)))
		return jp_fail(err, EINVAL, "%s: offset 0: not a truth file: expected %s", path,
			       JP_TRUTH_MAGIC);
	if (!header.version || header.version > JP_TRUTH_VERSION)
		return jp_fail(err, EINVAL, "%s: offset 8: truth version %u, expected 1 to %d",
			       path, header.version, JP_TRUTH_VERSION);
	if (header.record_size != size)
		return jp_fail(err, EINVAL, "%s: offset 12: records of %u bytes, expected %zu",
			       path, header.record_size, size);
	if (header.clockid != CLOCK_MONOTONIC)
		return jp_fail(err, EINVAL, "%s: offset 28: clock %u, expected %d (monotonic)",
			       path, header.clockid, CLOCK_MONOTONIC);
	length = header.next_slot < header.capacity ? header.next_slot : header.capacity;
	reader->overflow = header.next_slot - length;
	/* The file may lack slots at its end that were never used. */
	if (length > UINT32_MAX / 2 || st.st_size < JP_TRUTH_PAGE ||
	    length > ((uint64_t)st.st_size - JP_TRUTH_PAGE) / size)
		return jp_fail(
			err, ENODATA,
			"%s: offset 32: %llu records are in use, but the file has %lld bytes", path,
			(unsigned long long)length, (long long)st.st_size);
	reader->version = header.version;
	reader->e_machine = header.e_machine;
	reader->items->slots = calloc(length + 1, size);
	if (!reader->items->slots)
		return jp_fail(err, ENOMEM, "%s: out of memory for %llu records", path,
			       (unsigned long long)length);
	ret = jp_file_read_at(fd, path, reader->items->slots, length * size, JP_TRUTH_PAGE, err);
	if (ret)
		return ret;
	if (collect_records(reader, length) || jp_truth_items_build(reader))
		return jp_fail(err, ENOMEM, "%s: out of memory", path);
	/* Reject ids that the writers never allocated. */
	for (size_t i = 0; i < reader->items->nr_items; i++)
		if (reader->items->items[i].id >= header.next_id)
			return jp_fail(err, EINVAL,
				       "%s: offset 40: the next id is %" PRIu64 ", but %" PRIu32
				       " is in use",
				       path, header.next_id, reader->items->items[i].id);
	return 0;
}

struct jp_truth_reader *jp_truth_reader_open(const char *path, struct jp_error *err)
{
	uint64_t size;
	jp_cleanup_close int fd = jp_untrusted_open(path, -1, &size, err);
	struct jp_truth_reader *reader;

	if (fd < 0)
		return NULL;
	reader = calloc(1, sizeof(*reader));
	if (reader)
		reader->items = calloc(1, sizeof(*reader->items));
	if (!reader || !reader->items) {
		free(reader);
		jp_fail(err, ENOMEM, "%s: out of memory", path);
		return NULL;
	}
	if (!read_slots(reader, fd, path, err))
		return reader;
	jp_truth_reader_free(reader);
	return NULL;
}

int jp_truth_reader_visit(struct jp_truth_reader *reader, jp_event_visit visit, void *context)
{
	struct jp_truth_items *items = reader->items;
	struct jp_event event;
	int ret = 0;

	for (size_t i = 0; i < items->nr_records && !ret; i++) {
		ret = jp_truth_unpack(reader, items->records[i], &event);
		if (ret > 0)
			ret = visit(context, &event);
	}
	free(items->slots);
	free(items->records);
	items->slots = NULL;
	items->records = NULL;
	items->nr_records = 0;
	return ret;
}

void jp_truth_reader_free(struct jp_truth_reader *reader)
{
	if (!reader)
		return;
	for (struct jp_truth_region *next, *region = reader->items->region; region; region = next) {
		next = region->next;
		free(region);
	}
	free(reader->items->slots);
	free(reader->items->records);
	free(reader->items->items);
	free(reader->items);
	free(reader);
}
