// SPDX-License-Identifier: GPL-2.0-only
#include "harness/perfdata_read.h"

#include <elf.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/perfdata_attrs.h"
#include "harness/perfdata_decode.h"
#include "harness/perfdata_format.h"
#include "harness/perfdata_rounds.h"
#include "harness/perfdata_source.h"
#include "harness/zstd.h"

enum { CLOCK_ID_MONOTONIC = 1, MAX_RECORD = 65536, ALIGNED_CHUNK = 1 << 20 };
/* What one compressed record may unpack to; perf puts at most a ring into one. */
static const size_t unpack_limit = (size_t)256 << 20;

struct reader {
	struct jp_perf_source source;
	struct jp_perf_rounds rounds;
	struct jp_perf_attrs attrs;
	struct jp_zstd *zstd;
	struct jp_chunk *rest;    /* unpacked bytes that end within a record */
	struct jp_chunk *aligned; /* copies of records that the file holds at odd offsets */
	jp_event_visit visit;
	void *context;
	struct jp_perfdata_summary *summary;
	struct jp_error *err;
	struct jp_event event;
	struct jp_regs regs;
};

__attribute__((format(printf, 3, 4))) static int bad(struct reader *reader, uint64_t offset,
						     const char *fmt, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	return jp_fail(reader->err, EINVAL, "%s: offset %llu: %s", reader->source.name,
		       (unsigned long long)offset, text);
}

static int no_memory(struct reader *reader)
{
	return jp_fail(reader->err, ENOMEM, "%s: no memory", reader->source.name);
}

/* --- features and attrs ------------------------------------------------------------------- */

static uint32_t machine_of(const char *arch)
{
	static const struct {
		const char *arch;
		uint32_t e_machine;
	} machines[] = {
		{"x86_64", EM_X86_64}, {"aarch64", EM_AARCH64},
		{"i686", EM_386},      {"i586", EM_386},
		{"riscv64", EM_RISCV}, {"s390x", EM_S390},
		{"ppc64le", EM_PPC64}, {"ppc64", EM_PPC64},
		{"armv7l", EM_ARM},    {"loongarch64", 258 /* EM_LOONGARCH, glibc 2.36 */},
	};

	for (size_t i = 0; i < sizeof(machines) / sizeof(*machines); i++)
		if (strcmp(arch, machines[i].arch) == 0)
			return machines[i].e_machine;
	return EM_NONE;
}

/* Of all features only the machine matters here. */
static int read_feature(struct reader *reader, uint64_t feature, const unsigned char *bytes,
			uint64_t size, uint64_t offset)
{
	char arch[32] = "";
	uint32_t word;

	if (feature != JP_PERF_FEATURE_ARCH && feature != JP_PERF_FEATURE_E_MACHINE)
		return 0;
	if (size < sizeof(word))
		return bad(reader, offset, "expected at least 4 bytes of feature %llu, found %llu",
			   (unsigned long long)feature, (unsigned long long)size);
	memcpy(&word, bytes, sizeof(word));
	if (feature == JP_PERF_FEATURE_E_MACHINE) {
		reader->summary->e_machine = word;
		return 0;
	}
	if (word > size - sizeof(word))
		return bad(reader, offset, "expected a string of at most %llu bytes, found %u",
			   (unsigned long long)(size - sizeof(word)), word);
	memcpy(arch, bytes + sizeof(word), word < sizeof(arch) ? word : sizeof(arch) - 1);
	reader->summary->e_machine = machine_of(arch);
	return 0;
}

/* perf's mask of user registers on x86-64 is all but the segments; no other machine's is within
 * that. For files without features, such as that of a recording into a pipe of an old perf. */
static uint32_t guess_machine(const struct jp_perf_attr *attr)
{
	const uint64_t x86_mask = 0xff0fff, pointers = 1 << 7 | 1 << 8;
	uint64_t mask = attr->sample_regs_user;

	return (mask & pointers) == pointers && !(mask & ~x86_mask) ? EM_X86_64 : EM_NONE;
}

static int add_attr(struct reader *reader, const void *bytes, size_t size, const void *ids,
		    size_t nr_ids, uint64_t offset)
{
	const char *expected = jp_perf_attrs_add(&reader->attrs, bytes, size, ids, nr_ids);
	const struct jp_perf_attr *attr;

	if (expected && strcmp(expected, "memory") == 0)
		return no_memory(reader);
	if (expected)
		return bad(reader, offset, "expected %s", expected);
	attr = &reader->attrs.all[reader->attrs.count - 1].attr;
	if (!(attr->flags & JP_PERF_ATTR_USE_CLOCKID) || attr->clockid != CLOCK_ID_MONOTONIC)
		reader->summary->monotonic = false;
	reader->summary->attrs = reader->attrs.count;
	if (!reader->summary->e_machine)
		reader->summary->e_machine = guess_machine(attr);
	return 0;
}

/* The @section of the file, whole; NULL and a message where it does not lie within the file. */
static const unsigned char *section_of(struct reader *reader, const struct jp_perf_section *section,
				       uint64_t named_at, const char *what)
{
	uint64_t size = reader->source.size;

	if (section->offset > size || section->size > size - section->offset) {
		bad(reader, named_at,
		    "expected %s within the %llu bytes of the file, found %llu bytes "
		    "at offset %llu",
		    what, (unsigned long long)size, (unsigned long long)section->size,
		    (unsigned long long)section->offset);
		return NULL;
	}
	return reader->source.map + section->offset;
}

static int read_attrs(struct reader *reader, const struct jp_perf_file_header *header)
{
	uint64_t step = header->attr_size, at = header->attrs.offset;
	const unsigned char *entries = section_of(
		reader, &header->attrs, offsetof(struct jp_perf_file_header, attrs), "the attrs");

	if (!entries)
		return -EINVAL;
	if (step < JP_PERF_ATTR_SIZE_0 + sizeof(struct jp_perf_section) || step > MAX_RECORD ||
	    header->attrs.size % step || !header->attrs.size)
		return bad(reader, offsetof(struct jp_perf_file_header, attr_size),
			   "expected one or more attrs of at least 80 bytes, found %llu bytes of "
			   "attrs of %llu bytes",
			   (unsigned long long)header->attrs.size, (unsigned long long)step);
	for (uint64_t i = 0; i < header->attrs.size / step; i++, at += step) {
		struct jp_perf_section ids;
		const unsigned char *id_bytes;
		int ret;

		memcpy(&ids, entries + (i + 1) * step - sizeof(ids), sizeof(ids));
		id_bytes = section_of(reader, &ids, at + step - sizeof(ids), "the attr's ids");
		if (!id_bytes)
			return -EINVAL;
		ret = add_attr(reader, entries + i * step, step - sizeof(ids), id_bytes,
			       ids.size / sizeof(uint64_t), at);
		if (ret)
			return ret;
	}
	return 0;
}

static int read_features(struct reader *reader, const struct jp_perf_file_header *header)
{
	uint64_t at = header->data.offset + header->data.size;

	for (unsigned int feature = 0; feature < 256; feature++) {
		struct jp_perf_section section, entry = {at, sizeof(section)};
		const unsigned char *bytes;
		int ret;

		if (!(header->features[feature / 64] >> feature % 64 & 1))
			continue;
		bytes = section_of(reader, &entry, at, "the place of a feature");
		if (!bytes)
			return -EINVAL;
		memcpy(&section, bytes, sizeof(section));
		bytes = section_of(reader, &section, at, "a feature");
		if (!bytes)
			return -EINVAL;
		ret = read_feature(reader, feature, bytes, section.size, section.offset);
		if (ret)
			return ret;
		at += sizeof(section);
	}
	return 0;
}

static int read_file_header(struct reader *reader, const struct jp_perf_file_header *header)
{
	struct jp_perf_source *source = &reader->source;
	int ret;

	if (!source->map)
		return bad(reader, 8,
			   "expected the header of a pipe (16 bytes), found that of a file, "
			   "which a pipe cannot carry: name the file instead");
	ret = read_attrs(reader, header);
	if (ret)
		return ret;
	if (!header->data.size)
		return bad(
			reader, offsetof(struct jp_perf_file_header, data.size),
			"expected the size of the data, found 0: was the recording stopped before "
			"it could finish the file?");
	if (!section_of(reader, &header->data, offsetof(struct jp_perf_file_header, data),
			"the data"))
		return -EINVAL;
	ret = read_features(reader, header);
	if (ret)
		return ret;
	source->at = header->data.offset;
	source->end = header->data.offset + header->data.size;
	source->populated = source->at & ~UINT64_C(0xfff);
	return 0;
}

static int read_header(struct reader *reader)
{
	struct jp_perf_file_header header = {0};
	size_t have;
	const unsigned char *bytes = jp_source_peek(
		&reader->source, sizeof(struct jp_perf_pipe_header), &have, reader->err);

	if (!bytes)
		return -EIO;
	if (have < sizeof(struct jp_perf_pipe_header))
		return bad(reader, 0, "expected a perf.data header, found %zu bytes in all", have);
	memcpy(&header, bytes, have);
	if (header.magic == JP_PERF_MAGIC_FOREIGN)
		return bad(reader, 0,
			   "expected this machine's byte order, found a perf.data of a machine "
			   "of the other one");
	if (header.magic == JP_PERF_MAGIC_1)
		return bad(reader, 0,
			   "expected \"PERFILE2\", found \"PERFFILE\": a perf from before "
			   "Linux 2.6.33 wrote this");
	if (header.magic != JP_PERF_MAGIC)
		return bad(reader, 0, "expected \"PERFILE2\": this is no perf.data");
	if (header.size == sizeof(struct jp_perf_pipe_header)) {
		reader->summary->pipe = true;
		jp_source_advance(&reader->source, have);
		return 0;
	}
	if (header.size != sizeof(header))
		return bad(reader, 8,
			   "expected a header of 16 bytes (pipe) or 104 (file), found %llu",
			   (unsigned long long)header.size);
	bytes = jp_source_peek(&reader->source, sizeof(header), &have, reader->err);
	if (!bytes)
		return -EIO;
	if (have < sizeof(header))
		return bad(reader, have,
			   "expected a header of 104 bytes, found the end of the file");
	memcpy(&header, bytes, sizeof(header));
	return read_file_header(reader, &header);
}

/* --- records ------------------------------------------------------------------------------ */

static int deliver(void *context, const struct jp_pending *pending)
{
	struct reader *reader = context;
	struct jp_event *event = &reader->event;
	const char *expected;

	event->time = pending->time;
	event->at = pending->at;
	event->attr = pending->attr;
	expected = jp_perf_decode(&reader->attrs.all[pending->attr].layout, pending->record,
				  reader->summary->e_machine, event, &reader->regs);
	if (__builtin_expect(!!expected, 0))
		return bad(reader, pending->at,
			   "expected %s; found a record of type %u and %u bytes", expected,
			   pending->record->type, pending->record->size);
	switch (event->type) {
	case JP_EVENT_SAMPLE:
		reader->summary->samples++;
		break;
	case JP_EVENT_LOST:
		reader->summary->lost_records++;
		reader->summary->lost_events += event->lost.lost;
		break;
	case JP_EVENT_LOST_SAMPLES:
		reader->summary->lost_samples += event->lost.lost;
		break;
	default:
		break;
	}
	return reader->visit(reader->context, event);
}

/* A kernel record that lies at an odd address (after a compressed one, say) moves to an even one.
 */
static int align(struct reader *reader, size_t record_size, struct jp_pending *pending)
{
	size_t size = (record_size + 7) & ~(size_t)7;
	struct jp_chunk *chunk = reader->aligned;

	if (!chunk || chunk->room - chunk->used < size) {
		jp_chunk_put(chunk);
		reader->aligned = chunk = jp_chunk_new(ALIGNED_CHUNK);
		if (!chunk)
			return no_memory(reader);
	}
	memcpy(chunk->bytes + chunk->used, pending->record, record_size);
	pending->record = (const void *)(chunk->bytes + chunk->used);
	pending->chunk = chunk;
	chunk->used += size;
	return 0;
}

static int kernel_record(struct reader *reader, const struct jp_perf_record *header,
			 struct jp_pending *pending)
{
	const struct jp_perf_record *record;
	int64_t attr;

	if (!header->type || header->type > JP_PERF_RECORD_CALLCHAIN_DEFERRED) {
		reader->summary->unknown_records++;
		return 0;
	}
	if (__builtin_expect((uintptr_t)pending->record % sizeof(uint64_t), 0)) {
		int ret = align(reader, header->size, pending);

		if (ret)
			return ret;
	}
	record = pending->record;
	attr = jp_perf_attrs_of(&reader->attrs, record);
	if (__builtin_expect(attr < 0, 0))
		return bad(reader, pending->at,
			   "expected a record of one of the file's %u attrs, found id %llu",
			   reader->attrs.count,
			   reader->attrs.count ? (unsigned long long)jp_perf_record_id(
							 &reader->attrs.all[0].layout, record)
					       : 0);
	pending->attr = attr;
	pending->time = jp_perf_record_time(&reader->attrs.all[attr].layout, record);
	/* What has no time cannot wait for its turn: perf gives it out at once. */
	if (!pending->time)
		return deliver(reader, pending);
	return jp_rounds_add(&reader->rounds, pending) ? no_memory(reader) : 0;
}

/* Whole records of @chunk from @from on, all of them unpacked from the record at @at. */
static int unpacked_records(struct reader *reader, struct jp_chunk *chunk, uint64_t at)
{
	size_t from = 0;

	while (chunk->used - from >= sizeof(struct jp_perf_record)) {
		const struct jp_perf_record *record = (const void *)(chunk->bytes + from);
		struct jp_pending pending = {.record = record, .chunk = chunk, .at = at};
		int ret = 0;

		if (record->size < sizeof(*record) || record->size % sizeof(uint64_t))
			return bad(
				reader, at,
				"expected records of whole words in the compressed data, found one "
				"of %u bytes",
				record->size);
		if (chunk->used - from < record->size)
			break;
		reader->summary->records++;
		if (record->type < JP_PERF_RECORD_USER)
			ret = kernel_record(reader, record, &pending);
		else if (record->type != JP_PERF_RECORD_FINISHED_ROUND)
			ret = bad(reader, at,
				  "expected the kernel's records in the compressed data, "
				  "found type %u",
				  record->type);
		else
			ret = jp_rounds_finish(&reader->rounds);
		if (ret)
			return ret;
		from += record->size;
	}
	if (from == chunk->used)
		return 0;
	reader->rest = jp_chunk_new(chunk->used - from);
	if (!reader->rest)
		return no_memory(reader);
	reader->rest->used = chunk->used - from;
	memcpy(reader->rest->bytes, chunk->bytes + from, chunk->used - from);
	return 0;
}

static int compressed_record(struct reader *reader, const struct jp_perf_record *record,
			     const unsigned char *data, uint64_t at)
{
	struct jp_chunk *chunk = reader->rest ? reader->rest : jp_chunk_new(0);
	uint64_t size = record->size - sizeof(*record);
	struct jp_error why;
	int ret;

	reader->rest = NULL;
	reader->summary->compressed = true;
	if (!chunk)
		return no_memory(reader);
	if (record->type == JP_PERF_RECORD_COMPRESSED2) {
		uint64_t told = 0;

		if (size >= sizeof(told))
			memcpy(&told, data, sizeof(told));
		if (size < sizeof(told) || told > size - sizeof(told)) {
			jp_chunk_put(chunk);
			return bad(reader, at,
				   "expected compressed data that fits into its record of "
				   "%u bytes",
				   record->size);
		}
		data += sizeof(told);
		size = told;
	}
	if (!reader->zstd)
		reader->zstd = jp_zstd_new(&why);
	ret = reader->zstd ? jp_zstd_more(reader->zstd, data, size, &chunk->bytes, &chunk->room,
					  &chunk->used, unpack_limit, &why)
			   : -ENOTSUP;
	if (ret)
		ret = bad(reader, at, "compressed record of type %u: %s", record->type, why.text);
	else
		ret = unpacked_records(reader, chunk, at);
	jp_chunk_put(chunk);
	return ret;
}

static int skip_payload(struct reader *reader, uint64_t size, uint64_t at)
{
	uint64_t skipped;
	int ret = jp_source_skip(&reader->source, size, &skipped, reader->err);

	if (ret)
		return ret;
	if (skipped < size)
		return bad(reader, at, "expected %llu bytes after this record, found %llu",
			   (unsigned long long)size, (unsigned long long)skipped);
	return 0;
}

/* perf's own records, @bytes and all: gone from the source already, and at any address. */
static int user_record(struct reader *reader, const struct jp_perf_record *record,
		       const unsigned char *bytes, uint64_t at)
{
	uint64_t word = 0;
	uint32_t attr_size;

	if (record->size >= sizeof(*record) + sizeof(word))
		memcpy(&word, bytes + sizeof(*record), sizeof(word));
	switch (record->type) {
	case JP_PERF_RECORD_FINISHED_ROUND:
		return jp_rounds_finish(&reader->rounds);
	case JP_PERF_RECORD_COMPRESSED:
	case JP_PERF_RECORD_COMPRESSED2:
		return compressed_record(reader, record, bytes + sizeof(*record), at);
	case JP_PERF_RECORD_HEADER_ATTR:
		if (!reader->summary->pipe)
			return 0;
		attr_size = word >> 32 ? word >> 32 : JP_PERF_ATTR_SIZE_0;
		if (attr_size > record->size - sizeof(*record))
			return bad(reader, at,
				   "expected an attr that fits into its record of %u bytes, "
				   "found one of %u",
				   record->size, attr_size);
		return add_attr(reader, bytes + sizeof(*record), attr_size,
				bytes + sizeof(*record) + attr_size,
				(record->size - sizeof(*record) - attr_size) / sizeof(uint64_t),
				at);
	case JP_PERF_RECORD_HEADER_FEATURE:
		if (record->size < sizeof(*record) + sizeof(word))
			return bad(reader, at, "expected a feature's number in its record");
		return read_feature(reader, word, bytes + 16, record->size - 16, at);
	case JP_PERF_RECORD_AUXTRACE:
		return skip_payload(reader, word, at);
	case JP_PERF_RECORD_TRACING_DATA:
		/* A 32-bit size, and no padding before what follows. */
		attr_size = 0;
		if (record->size >= sizeof(*record) + sizeof(attr_size))
			memcpy(&attr_size, bytes + sizeof(*record), sizeof(attr_size));
		return skip_payload(reader, attr_size, at);
	default:
		if (record->type > JP_PERF_RECORD_SCHEDSTAT_DOMAIN)
			reader->summary->unknown_records++;
		return 0;
	}
}

static int read_record(struct reader *reader, bool *more)
{
	struct jp_perf_source *source = &reader->source;
	struct jp_pending pending = {.at = source->at};
	struct jp_perf_record header;
	const unsigned char *bytes;
	size_t have;
	int ret;

	bytes = jp_source_peek(source, sizeof(header), &have, reader->err);
	if (!bytes)
		return -EIO;
	*more = have;
	if (!have)
		return 0;
	if (have < sizeof(header))
		return bad(reader, pending.at,
			   "expected a record of at least 8 bytes, found the last "
			   "%zu bytes",
			   have);
	memcpy(&header, bytes, sizeof(header));
	if (header.size < sizeof(header))
		return bad(reader, pending.at,
			   "expected a record of at least 8 bytes, found type %u of "
			   "%u bytes",
			   header.type, header.size);
	bytes = jp_source_peek(source, header.size, &have, reader->err);
	if (!bytes)
		return -EIO;
	if (have < header.size)
		return bad(reader, pending.at,
			   "expected a record of type %u of %u bytes, found the last "
			   "%zu bytes",
			   header.type, header.size, have);
	reader->summary->records++;
	pending.record = (const void *)bytes;
	pending.chunk = source->chunk;
	jp_source_advance(source, header.size);
	if (header.type < JP_PERF_RECORD_USER)
		return kernel_record(reader, &header, &pending);
	/* Skipping its payload may take the source to another chunk. */
	if (pending.chunk)
		pending.chunk->refs++;
	ret = user_record(reader, &header, bytes, pending.at);
	jp_chunk_put(pending.chunk);
	if (header.type == JP_PERF_RECORD_FINISHED_ROUND)
		jp_source_drop(source, jp_rounds_oldest(&reader->rounds, source->at));
	return ret;
}

static int read_all(struct reader *reader)
{
	bool more = true;
	int ret = read_header(reader);

	while (!ret && more)
		ret = read_record(reader, &more);
	if (!ret && reader->rest)
		ret = bad(reader, reader->source.at,
			  "expected the compressed data to end with a whole record, found %zu "
			  "bytes more",
			  reader->rest->used);
	if (!ret)
		ret = jp_rounds_end(&reader->rounds);
	reader->summary->bytes = reader->source.at;
	return ret;
}

int jp_perfdata_read(const char *path, jp_event_visit visit, void *context,
		     struct jp_perfdata_summary *summary, struct jp_error *err)
{
	struct jp_perfdata_summary unwanted;
	struct reader reader = {
		.visit = visit,
		.context = context,
		.summary = summary ? summary : &unwanted,
		.err = err,
	};
	int ret = jp_source_open(&reader.source, path, err);

	*reader.summary = (struct jp_perfdata_summary){.monotonic = true};
	if (ret)
		return ret;
	reader.rounds.deliver = deliver;
	reader.rounds.context = &reader;
	ret = read_all(&reader);
	reader.summary->monotonic &= reader.summary->attrs > 0;
	jp_rounds_free(&reader.rounds);
	jp_perf_attrs_free(&reader.attrs);
	jp_zstd_free(reader.zstd);
	jp_chunk_put(reader.rest);
	jp_chunk_put(reader.aligned);
	jp_source_close(&reader.source);
	return ret;
}
