// SPDX-License-Identifier: GPL-2.0-only
#include "harness/format/perfdata/source.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/base/mapped_file.h"
#include "harness/base/page.h"
#include "harness/base/shortage.h"
#include "harness/base/untrusted_file.h"

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22 /* 5.14 */
#endif

enum { CHUNK = 1 << 20, WINDOW = 2 << 20 };

struct jp_chunk *jp_chunk_new(size_t capacity)
{
	struct jp_chunk *chunk = malloc(sizeof(*chunk));

	if (!chunk)
		return NULL;
	*chunk = (struct jp_chunk){.refs = 1, .capacity = capacity, .bytes = malloc(capacity)};
	if (capacity && !chunk->bytes) {
		free(chunk);
		return NULL;
	}
	return chunk;
}

void jp_chunk_put(struct jp_chunk *chunk)
{
	if (!chunk || --chunk->refs)
		return;
	free(chunk->bytes);
	free(chunk);
}

static int map_file(struct jp_perf_source *source, uint64_t size, struct jp_error *err)
{
	source->size = source->end = size;
	if (!size)
		return jp_fail(err, EINVAL,
			       "%s: offset 0: expected a perf.data header, found an "
			       "empty file",
			       source->name);
	source->map = jp_mapped_file(source->fd, source->name, size, err);
	if (!source->map)
		return -EIO;
	madvise((void *)source->map, size, MADV_SEQUENTIAL);
	return 0;
}

int jp_source_check(const struct jp_perf_source *source, struct jp_error *err)
{
	return source->map ? jp_mapped_file_check(source->fd, source->name, source->size, err) : 0;
}

int jp_source_open(struct jp_perf_source *source, const char *path, struct jp_error *err)
{
	bool is_standard = strcmp(path, "-") == 0;
	struct stat st;
	int ret;

	*source = (struct jp_perf_source){
		.name = is_standard ? "(standard input)" : path,
		.fd = is_standard ? STDIN_FILENO : jp_named_open(path, err),
		.close_fd = !is_standard,
		.size = UINT64_MAX,
		.end = UINT64_MAX,
	};
	if (source->fd < 0)
		return source->fd;
	if (fstat(source->fd, &st))
		ret = jp_fail(err, errno, "%s: %s", source->name, strerror(errno));
	else if (S_ISDIR(st.st_mode))
		ret = jp_fail(err, EISDIR, "%s: %s", source->name, strerror(EISDIR));
	else if (S_ISREG(st.st_mode) && lseek(source->fd, 0, SEEK_CUR) == 0)
		ret = map_file(source, st.st_size, err);
	else
		ret = 0;
	if (ret)
		jp_source_close(source);
	return ret;
}

int jp_source_adopt(struct jp_perf_source *source, int fd, const char *name, uint64_t size,
		    struct jp_error *err)
{
	int ret;

	*source = (struct jp_perf_source){.name = name, .fd = fd, .close_fd = true};
	ret = map_file(source, size, err);
	if (ret)
		jp_source_close(source);
	return ret;
}

void jp_source_close(struct jp_perf_source *source)
{
	jp_mapped_file_end(source->map);
	if (source->close_fd && source->fd >= 0)
		close(source->fd);
	jp_chunk_put(source->chunk);
	*source = (struct jp_perf_source){.fd = -1};
}

/* Reads the pages up to @to ahead. One call for many pages is cheaper than a fault for each. */
static void populate_pages(struct jp_perf_source *source, uint64_t to)
{
	while (source->populated < to) {
		uint64_t size = source->size - source->populated;

		if (size > WINDOW)
			size = WINDOW;
		/* Ignore errors: the call is only an optimization, which old kernels reject. */
		madvise((void *)(source->map + source->populated), size, MADV_POPULATE_READ);
		source->populated += size;
	}
}

/* Makes room for @size bytes from @chunk_at on, in a new chunk if needed. Returns 0 or -ENOMEM. */
static int reserve_chunk(struct jp_perf_source *source, size_t size)
{
	struct jp_chunk *old_chunk = source->chunk, *chunk;
	size_t unread = old_chunk ? old_chunk->used - source->chunk_at : 0;

	if (old_chunk && old_chunk->capacity - source->chunk_at >= size)
		return 0;
	chunk = jp_chunk_new(size > CHUNK ? size : CHUNK);
	if (!chunk)
		return -ENOMEM;
	if (unread)
		memcpy(chunk->bytes, old_chunk->bytes + source->chunk_at, unread);
	chunk->used = unread;
	source->chunk = chunk;
	source->chunk_at = 0;
	jp_chunk_put(old_chunk);
	return 0;
}

const unsigned char *jp_source_peek(struct jp_perf_source *source, size_t size, size_t *available,
				    struct jp_error *err)
{
	struct jp_chunk *chunk;

	if (source->map) {
		uint64_t remaining = source->end - source->offset;

		*available = size < remaining ? size : remaining;
		if (source->offset + *available > source->populated)
			populate_pages(source, source->offset + *available);
		return source->map + source->offset;
	}
	if (reserve_chunk(source, size)) {
		jp_fail(err, ENOMEM, "%s: out of memory", source->name);
		return NULL;
	}
	chunk = source->chunk;
	while (chunk->used - source->chunk_at < size) {
		ssize_t nr_read =
			read(source->fd, chunk->bytes + chunk->used, chunk->capacity - chunk->used);

		if (nr_read < 0 && errno == EINTR)
			continue;
		if (nr_read < 0) {
			jp_shortage_note(errno);
			jp_fail(err, errno, "%s: offset %llu: %s", source->name,
				(unsigned long long)source->offset, strerror(errno));
			return NULL;
		}
		if (!nr_read)
			break;
		chunk->used += nr_read;
	}
	*available = chunk->used - source->chunk_at;
	if (*available > size)
		*available = size;
	return chunk->bytes + source->chunk_at;
}

void jp_source_advance(struct jp_perf_source *source, size_t size)
{
	source->offset += size;
	if (!source->map)
		source->chunk_at += size;
}

int jp_source_skip(struct jp_perf_source *source, uint64_t size, uint64_t *skipped,
		   struct jp_error *err)
{
	for (*skipped = 0; *skipped < size;) {
		size_t step = size - *skipped < CHUNK ? size - *skipped : CHUNK, available;

		if (source->map) { /* skips without reading the pages */
			uint64_t remaining = source->end - source->offset;

			*skipped = size < remaining ? size : remaining;
			source->offset += *skipped;
			if (source->populated < source->offset)
				source->populated = source->offset & -(uint64_t)JP_PAGE_LARGEST;
			return 0;
		}
		if (!jp_source_peek(source, step, &available, err))
			return -EIO;
		if (!available)
			return 0;
		jp_source_advance(source, available);
		*skipped += available;
	}
	return 0;
}

void jp_source_drop(struct jp_perf_source *source, uint64_t before)
{
	before &= ~((uint64_t)WINDOW - 1);
	if (!source->map || before <= source->dropped_end)
		return;
	madvise((void *)(source->map + source->dropped_end), before - source->dropped_end,
		MADV_DONTNEED);
	source->dropped_end = before;
}
