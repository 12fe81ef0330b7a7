// SPDX-License-Identifier: GPL-2.0-only
#include "harness/format/perfdata/records.h"

#include <errno.h>
#include <string.h>

#include "harness/base/round.h"
#include "harness/format/perfdata/decode.h"
#include "harness/format/perfdata/format.h"
#include "harness/format/perfdata/swap.h"

enum { COPIES_CHUNK = 1 << 20 };
/* Largest unpacked size of one compressed record; perf puts at most one ring into a record. */
static const size_t unpack_limit = (size_t)256 << 20;

static struct jp_perf_record read_record_header(const struct jp_perf_reader *reader,
						const void *bytes)
{
	struct jp_perf_record record;

	memcpy(&record, bytes, sizeof(record));
	if (reader->attrs.swapped)
		jp_perf_swap_record_header(&record);
	return record;
}

/* Copies a kernel record to an address that is a multiple of 8. Returns NULL without memory. */
static struct jp_perf_record *copy_record(struct jp_perf_reader *reader, size_t record_size,
					  struct jp_pending *pending)
{
	const size_t size = jp_round_up_to_words(record_size);
	struct jp_chunk *chunk = reader->copies;
	struct jp_perf_record *copy;

	if (!chunk || chunk->capacity - chunk->used < size) {
		jp_chunk_put(chunk);
		reader->copies = chunk = jp_chunk_new(COPIES_CHUNK);
		if (!chunk)
			return NULL;
	}
	copy = (void *)(chunk->bytes + chunk->used);
	memcpy(copy, pending->record, record_size);
	pending->record = copy;
	pending->chunk = chunk;
	chunk->used += size;
	return copy;
}

/* Passes a record that makes no event to reader->other(). */
static int pass_other_record(struct jp_perf_reader *reader, const unsigned char *bytes,
			     uint64_t size)
{
	return reader->handle_other ? reader->handle_other(reader->context, bytes, size) : 0;
}

static int finish_round(struct jp_perf_reader *reader, const unsigned char *bytes)
{
	/* The end of a round in a file of a folder concerns only that file: do not release
	 * records. */
	int ret = reader->nr_parts ? 0 : jp_rounds_finish(&reader->rounds);

	return ret ? ret : pass_other_record(reader, bytes, sizeof(struct jp_perf_record));
}

static int read_kernel_record(struct jp_perf_reader *reader, const struct jp_perf_record *header,
			      struct jp_pending *pending)
{
	const bool is_swapped = reader->attrs.swapped;
	const struct jp_perf_record *record;
	struct jp_perf_record *copy = NULL;
	int64_t attr;

	if (!header->type || header->type > JP_PERF_RECORD_CALLCHAIN_DEFERRED) {
		reader->summary->unknown_records++;
		return pass_other_record(reader, (const void *)pending->record, header->size);
	}
	/* Copy unaligned records, such as those after a compressed record. */
	if (__builtin_expect(is_swapped || (uintptr_t)pending->record % sizeof(uint64_t), 0)) {
		if (is_swapped && header->size % sizeof(uint64_t))
			return jp_perf_fail(
				reader, pending->offset,
				"expected a record of whole words, found one of %u bytes",
				header->size);
		copy = copy_record(reader, header->size, pending);
		if (!copy)
			return jp_perf_fail_memory(reader);
	}
	if (is_swapped)
		jp_perf_swap_words(copy);
	record = pending->record;
	attr = jp_perf_attrs_find(&reader->attrs, record);
	if (__builtin_expect(attr < 0, 0))
		return jp_perf_fail(
			reader, pending->offset,
			"expected a record of one of the file's %zu attrs, found id %llu",
			reader->attrs.count,
			reader->attrs.count ? (unsigned long long)jp_perf_record_id(
						      &reader->attrs.list[0].layout, record)
					    : 0);
	if (is_swapped)
		jp_perf_swap_rest(&reader->attrs.list[attr].layout, copy);
	pending->attr = attr;
	pending->time = jp_perf_record_time(&reader->attrs.list[attr].layout, record);
	/* A later file of a folder states the running tasks again (perf record --switch-output),
	 * as they are at the end of the file before. */
	if (!pending->time && reader->nr_parts > 1)
		pending->time = reader->rounds.newest;
	/* Deliver a record without a time at once, as perf does: it cannot be ordered. */
	if (!pending->time)
		return reader->rounds.deliver(reader->rounds.context, pending);
	return jp_rounds_add(&reader->rounds, pending) ? jp_perf_fail_memory(reader) : 0;
}

/* Reads the whole records in @chunk, unpacked from the record at @offset, and keeps the rest. */
static int read_unpacked_records(struct jp_perf_reader *reader, struct jp_chunk *chunk,
				 uint64_t offset)
{
	size_t from = 0;

	while (chunk->used - from >= sizeof(struct jp_perf_record)) {
		const unsigned char *bytes = chunk->bytes + from;
		const struct jp_perf_record record = read_record_header(reader, bytes);
		struct jp_pending pending = {
			.record = (void *)bytes, .chunk = chunk, .offset = offset};
		int ret = 0;

		if (record.size < sizeof(record) || record.size % sizeof(uint64_t))
			return jp_perf_fail(
				reader, offset,
				"expected records of whole words in the compressed data, found one "
				"of %u bytes",
				record.size);
		if (chunk->used - from < record.size)
			break;
		reader->summary->records++;
		if (record.type < JP_PERF_RECORD_USER)
			ret = read_kernel_record(reader, &record, &pending);
		else if (record.type != JP_PERF_RECORD_FINISHED_ROUND)
			ret = jp_perf_fail(reader, offset,
					   "expected the kernel's records in the compressed data, "
					   "found type %u",
					   record.type);
		else
			ret = finish_round(reader, bytes);
		reader->summary->own_records += record.type >= JP_PERF_RECORD_USER;
		if (ret)
			return ret;
		from += record.size;
	}
	if (from == chunk->used)
		return 0;
	reader->partial_record = jp_chunk_new(chunk->used - from);
	if (!reader->partial_record)
		return jp_perf_fail_memory(reader);
	reader->partial_record->used = chunk->used - from;
	memcpy(reader->partial_record->bytes, chunk->bytes + from, chunk->used - from);
	return 0;
}

static int read_compressed_record(struct jp_perf_reader *reader,
				  const struct jp_perf_record *record, const unsigned char *data,
				  uint64_t offset)
{
	struct jp_chunk *chunk = reader->partial_record ? reader->partial_record : jp_chunk_new(0);
	size_t size = record->size - sizeof(*record), nr_remaining;
	struct jp_error reason;
	int ret;

	reader->partial_record = NULL;
	reader->summary->compressed = true;
	/* perf writes records of at most 65,535 bytes, and COMPRESSED2 in whole words. */
	reader->summary->full_chunk = record->size + sizeof(uint64_t) > UINT16_MAX;
	if (!chunk)
		return jp_perf_fail_memory(reader);
	nr_remaining = chunk->used;
	if (record->type == JP_PERF_RECORD_COMPRESSED2) {
		uint64_t stated_size = 0;

		if (size >= sizeof(stated_size))
			stated_size = jp_perf_read64(reader, data);
		if (size < sizeof(stated_size) || stated_size > size - sizeof(stated_size)) {
			jp_chunk_put(chunk);
			return jp_perf_fail(reader, offset,
					    "expected compressed data that fits into its record of "
					    "%u bytes",
					    record->size);
		}
		data += sizeof(stated_size);
		size = stated_size;
	}
	if (!reader->zstd)
		reader->zstd = jp_zstd_new(&reason);
	ret = reader->zstd
		      ? jp_zstd_decompress(reader->zstd, data, size, &chunk->bytes,
					   &chunk->capacity, &chunk->used, unpack_limit, &reason)
		      : -ENOTSUP;
	if (ret)
		ret = jp_perf_fail(reader, offset, "compressed record of type %u: %s", record->type,
				   reason.text);
	else if (chunk->used == nr_remaining && !reader->summary->empty_chunk)
		reader->summary->empty_chunk = offset;
	if (!ret)
		ret = read_unpacked_records(reader, chunk, offset);
	jp_chunk_put(chunk);
	return ret;
}

/* Returns the function that reports an incomplete record. If nothing can follow the data, as in a
 * stream, the file is truncated; otherwise it is malformed. */
static typeof(&jp_perf_fail) get_failure(const struct jp_perf_source *source)
{
	return !source->map || source->end >= source->size ? jp_perf_fail_cut_short : jp_perf_fail;
}

/* Skips the payload of @size bytes after a record. In a mapped file, record and payload are
 * contiguous. */
static int skip_payload(struct jp_perf_reader *reader, const struct jp_perf_record *record,
			const unsigned char *bytes, uint64_t size, uint64_t offset)
{
	uint64_t skipped;
	int ret = jp_source_skip(&reader->source, size, &skipped, reader->err);

	if (ret)
		return ret;
	if (skipped < size)
		return get_failure(&reader->source)(
			reader, offset, "expected %llu bytes after this record, found %llu",
			(unsigned long long)size, (unsigned long long)skipped);
	return reader->source.map ? pass_other_record(reader, bytes, record->size + size) : 0;
}

/* Reads one of perf's own records at @bytes, which may be unaligned. The source has advanced past
 * it. */
static int read_user_record(struct jp_perf_reader *reader, const struct jp_perf_record *record,
			    const unsigned char *bytes, uint64_t offset)
{
	uint64_t word = 0;
	uint32_t attr_size;
	int ret = 0;

	if (record->size >= sizeof(*record) + sizeof(word))
		word = jp_perf_read64(reader, bytes + sizeof(*record));
	reader->summary->own_records += record->type <= JP_PERF_RECORD_SCHEDSTAT_DOMAIN;
	switch (record->type) {
	case JP_PERF_RECORD_FINISHED_ROUND:
		reader->summary->rounds++;
		return finish_round(reader, bytes);
	case JP_PERF_RECORD_COMPRESSED:
	case JP_PERF_RECORD_COMPRESSED2:
		return read_compressed_record(reader, record, bytes + sizeof(*record), offset);
	case JP_PERF_RECORD_HEADER_ATTR:
		if (!reader->summary->pipe)
			break;
		attr_size = record->size >= 16 ? jp_perf_read32(reader, bytes + 12) : 0;
		if (!attr_size)
			attr_size = JP_PERF_ATTR_SIZE_0;
		if (attr_size > record->size - sizeof(*record))
			return jp_perf_fail(
				reader, offset,
				"expected an attr that fits into its record of %u bytes, "
				"found one of %u",
				record->size, attr_size);
		ret = jp_perf_add_attr(
			reader, bytes + sizeof(*record), attr_size,
			bytes + sizeof(*record) + attr_size,
			(record->size - sizeof(*record) - attr_size) / sizeof(uint64_t), offset);
		break;
	case JP_PERF_RECORD_HEADER_BUILD_ID:
		ret = jp_perf_read_build_ids(reader, bytes, record->size, offset);
		break;
	case JP_PERF_RECORD_HEADER_FEATURE:
		if (record->size < sizeof(*record) + sizeof(word))
			return jp_perf_fail(reader, offset,
					    "expected a feature's number in its record");
		ret = jp_perf_read_feature(reader, word, bytes + 16, record->size - 16, offset);
		break;
	case JP_PERF_RECORD_AUXTRACE:
		return skip_payload(reader, record, bytes, word, offset);
	case JP_PERF_RECORD_TRACING_DATA:
		/* This record's size field has 32 bits, and no padding follows the payload. */
		attr_size = 0;
		if (record->size >= sizeof(*record) + sizeof(attr_size))
			attr_size = jp_perf_read32(reader, bytes + sizeof(*record));
		return skip_payload(reader, record, bytes, attr_size, offset);
	default:
		reader->summary->unknown_records += record->type > JP_PERF_RECORD_SCHEDSTAT_DOMAIN;
		break;
	}
	return ret ?: pass_other_record(reader, bytes, record->size);
}

static int read_record(struct jp_perf_reader *reader, bool *has_more)
{
	struct jp_perf_source *source = &reader->source;
	struct jp_pending pending = {.offset = source->offset};
	struct jp_perf_record header;
	const unsigned char *bytes;
	size_t nr_read;
	int ret;

	bytes = jp_source_peek(source, sizeof(header), &nr_read, reader->err);
	if (!bytes)
		return -EIO;
	*has_more = nr_read;
	if (!nr_read)
		return 0;
	if (nr_read < sizeof(header))
		return get_failure(source)(
			reader, pending.offset,
			"expected a record of at least 8 bytes, found the last %zu bytes", nr_read);
	header = read_record_header(reader, bytes);
	if (header.size < sizeof(header))
		return jp_perf_fail(reader, pending.offset,
				    "expected a record of at least 8 bytes, found type %u of "
				    "%u bytes",
				    header.type, header.size);
	bytes = jp_source_peek(source, header.size, &nr_read, reader->err);
	if (!bytes)
		return -EIO;
	if (nr_read < header.size)
		return get_failure(source)(
			reader, pending.offset,
			"expected a record of type %u of %u bytes, found the last %zu bytes",
			header.type, header.size, nr_read);
	reader->summary->records++;
	pending.record = (const void *)bytes;
	pending.chunk = source->chunk;
	jp_source_advance(source, header.size);
	if (header.type < JP_PERF_RECORD_USER)
		return read_kernel_record(reader, &header, &pending);
	/* Skipping the payload may switch the source to another chunk. */
	if (pending.chunk)
		pending.chunk->refs++;
	ret = read_user_record(reader, &header, bytes, pending.offset);
	jp_chunk_put(pending.chunk);
	if (header.type == JP_PERF_RECORD_FINISHED_ROUND && !reader->nr_parts)
		jp_source_drop(source, jp_rounds_oldest(&reader->rounds, source->offset));
	return ret;
}

int jp_perf_read_records(struct jp_perf_reader *reader)
{
	bool has_more = true;
	int ret = 0;

	while (!ret && has_more)
		ret = read_record(reader, &has_more);
	if (!ret && reader->partial_record && *reader->truncation.text)
		ret = -ENODATA;
	if (!ret && reader->partial_record)
		ret = (reader->summary->full_chunk ? jp_perf_fail_cut_short : jp_perf_fail)(
			reader, reader->source.offset,
			"expected the compressed data to end with a whole record, found %zu "
			"bytes more%s",
			reader->partial_record->used,
			reader->summary->full_chunk
				? "; perf record -z may leave out the end of data that hardly "
				  "compresses (results/FINDINGS.md, perf.compressed-tail)"
				: "");
	reader->summary->bytes += reader->source.offset;
	return ret;
}
