// SPDX-License-Identifier: GPL-2.0-only
#include "harness/format/truth/tables.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

void *jp_truth_alloc(struct jp_truth *truth, size_t count, size_t size)
{
	struct jp_truth_region *region = truth->tables->region;
	size_t bytes, chunk = 1 << 16;
	void *at;

	if (__builtin_mul_overflow(count, size, &bytes) || bytes > SIZE_MAX / 2)
		return NULL;
	bytes = (bytes + 7) & ~(size_t)7;
	if (!region || region->size - region->used < bytes) {
		if (chunk < bytes)
			chunk = bytes;
		region = calloc(1, sizeof(*region) + chunk);
		if (!region)
			return NULL;
		region->size = chunk;
		region->next = truth->tables->region;
		truth->tables->region = region;
	}
	at = (char *)region->bytes + region->used;
	region->used += bytes;
	return at;
}

bool jp_truth_grow(void **array, size_t *capacity, size_t count, size_t size)
{
	size_t wanted = *capacity ? *capacity * 2 : 64;
	void *grown;

	if (count < *capacity)
		return true;
	grown = reallocarray(*array, wanted, size);
	if (!grown)
		return false;
	*array = grown;
	*capacity = wanted;
	return true;
}

static size_t place_of(const struct jp_truth_map *map, uint64_t key)
{
	uint64_t hash = (key ^ key >> 32) * 0x9e3779b97f4a7c15;
	size_t at = (hash ^ hash >> 29) & (map->capacity - 1);

	while (map->values[at] && map->keys[at] != key)
		at = (at + 1) & (map->capacity - 1);
	return at;
}

uint32_t *jp_truth_map_at(struct jp_truth_map *map, uint64_t key)
{
	/* Absent keys are counted too: their value is about to be set. */
	if (map->count * 2 >= map->capacity) {
		struct jp_truth_map wider = {.capacity = map->capacity ? map->capacity * 2 : 64};

		wider.keys = calloc(wider.capacity, sizeof(*wider.keys));
		wider.values = calloc(wider.capacity, sizeof(*wider.values));
		if (!wider.keys || !wider.values) {
			jp_truth_map_free(&wider);
			return NULL;
		}
		for (size_t i = 0; i < map->capacity; i++) {
			size_t at;

			if (!map->values[i])
				continue;
			at = place_of(&wider, map->keys[i]);
			wider.keys[at] = map->keys[i];
			wider.values[at] = map->values[i];
			wider.count++;
		}
		jp_truth_map_free(map);
		*map = wider;
	}
	size_t at = place_of(map, key);

	if (!map->values[at]) {
		map->keys[at] = key;
		map->count++;
	}
	return &map->values[at];
}

void jp_truth_map_free(struct jp_truth_map *map)
{
	free(map->keys);
	free(map->values);
	memset(map, 0, sizeof(*map));
}

void jp_truth_mark_corrupt(struct jp_truth *truth)
{
	truth->torn++;
	truth->gaps++;
}

static int by_time(const void *a, const void *b)
{
	const struct jp_truth_record *one = *(struct jp_truth_record *const *)a;
	const struct jp_truth_record *other = *(struct jp_truth_record *const *)b;

	if (one->before != other->before)
		return one->before < other->before ? -1 : 1;
	return one < other ? -1 : one > other; /* same array: file order */
}

/* Separates the committed slots from the torn ones. */
static int believe(struct jp_truth *truth, size_t count)
{
	struct jp_truth_tables *tables = truth->tables;
	uint64_t torn = 0;

	tables->believed = calloc(count + 1, sizeof(struct jp_truth_record *));
	if (!tables->believed)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		struct jp_truth_record *record = &tables->slots[i];

		if (!record->seal || record->seal != jp_truth_seal(record)) {
			torn++;
			continue;
		}
		truth->torn += torn;
		truth->gaps += torn;
		torn = 0;
		if (!record->type || record->type >= JP_TRUTH_TYPES ||
		    record->before > record->after)
			jp_truth_mark_corrupt(truth);
		else
			tables->believed[tables->nr_believed++] = record;
	}
	truth->torn += torn; /* at the end: being written when the writer was killed */
	truth->records = tables->nr_believed;
	qsort(tables->believed, tables->nr_believed, sizeof(*tables->believed), by_time);
	return 0;
}

static int read_at(int fd, const char *path, void *to, size_t size, uint64_t offset,
		   struct jp_error *err)
{
	for (size_t done = 0; done < size;) {
		ssize_t got = pread(fd, (char *)to + done, size - done, offset + done);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return jp_fail(err, errno, "%s: offset %llu: %s", path,
				       (unsigned long long)(offset + done), strerror(errno));
		if (!got)
			return jp_fail(
				err, ENODATA,
				"%s: offset %llu: the file ends here, expected %zu bytes more",
				path, (unsigned long long)(offset + done), size - done);
		done += got;
	}
	return 0;
}

static int read_slots(struct jp_truth *truth, int fd, const char *path, struct jp_error *err)
{
	const size_t size = sizeof(struct jp_truth_record);
	struct jp_truth_header header;
	struct stat st;
	uint64_t used;
	int ret;

	if (fstat(fd, &st) < 0)
		return jp_fail(err, errno, "%s: %s", path, strerror(errno));
	if (!S_ISREG(st.st_mode))
		return jp_fail(err, EINVAL, "%s: not a regular file", path);
	ret = read_at(fd, path, &header, sizeof(header), 0, err);
	if (ret)
		return ret;
	if (memcmp(header.magic, JP_TRUTH_MAGIC, sizeof(header.magic)))
		return jp_fail(err, EINVAL, "%s: offset 0: no truth file, expected %s", path,
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
	used = header.next_slot < header.capacity ? header.next_slot : header.capacity;
	truth->overflow = header.next_slot - used;
	/* The unused tail may have been cut off. */
	if (used > UINT32_MAX / 2 || st.st_size < JP_TRUTH_PAGE ||
	    used > ((uint64_t)st.st_size - JP_TRUTH_PAGE) / size)
		return jp_fail(
			err, ENODATA,
			"%s: offset 32: %llu records are in use, but the file has %lld bytes", path,
			(unsigned long long)used, (long long)st.st_size);
	truth->e_machine = header.e_machine;
	truth->tables->slots = calloc(used + 1, size);
	if (!truth->tables->slots)
		return jp_fail(err, ENOMEM, "%s: no memory for %llu records", path,
			       (unsigned long long)used);
	ret = read_at(fd, path, truth->tables->slots, used * size, JP_TRUTH_PAGE, err);
	if (ret)
		return ret;
	if (believe(truth, used) || jp_truth_items(truth))
		return jp_fail(err, ENOMEM, "%s: no memory", path);
	return 0;
}

struct jp_truth *jp_truth_load(const char *path, struct jp_error *err)
{
	struct jp_truth *truth = calloc(1, sizeof(*truth));
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), ret;

	if (fd < 0) {
		jp_fail(err, errno, "%s: %s", path, strerror(errno));
		free(truth);
		return NULL;
	}
	if (truth)
		truth->tables = calloc(1, sizeof(*truth->tables));
	if (!truth || !truth->tables) {
		ret = jp_fail(err, ENOMEM, "%s: no memory", path);
	} else {
		ret = read_slots(truth, fd, path, err);
		if (!ret)
			ret = jp_truth_collector(truth, path, err);
		if (!ret) {
			ret = jp_truth_build_files(truth);
			if (ret)
				jp_fail(err, -ret, "%s: %s", path,
					ret == -E2BIG ? "more forked files than a truth can hold"
						      : "no memory");
		}
		/* Everything was copied into tables. */
		free(truth->tables->slots);
		free(truth->tables->believed);
		truth->tables->slots = NULL;
		truth->tables->believed = NULL;
	}
	close(fd);
	if (!ret)
		return truth;
	jp_truth_free(truth);
	return NULL;
}

void jp_truth_free(struct jp_truth *truth)
{
	if (!truth)
		return;
	if (truth->tables) {
		for (struct jp_truth_region *next, *at = truth->tables->region; at; at = next) {
			next = at->next;
			free(at);
		}
		free(truth->tables->slots);
		free(truth->tables->believed);
		free(truth->tables->items);
		free(truth->tables->code_reach);
	}
	free(truth->tables);
	free(truth->acts);
	free(truth->files);
	free(truth->codes);
	free(truth->activations);
	free(truth->paths);
	free(truth);
}
