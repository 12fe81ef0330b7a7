// SPDX-License-Identifier: GPL-2.0-only
#include "harness/format/perfdata/copy.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/array.h"
#include "harness/base/bytes.h"
#include "harness/base/order.h"

struct feature {
	bool present;
	struct jp_bytes payload;
};

/* An entry of the attrs section: an attr, of @size bytes at offset @offset of copy->attrs, and the
 * place of its ids in copy->ids. */
struct attr_entry {
	size_t offset, size;
	struct jp_perf_section ids;
};

struct jp_perf_copy {
	struct jp_output *output;
	bool pipe;
	struct jp_perf_file_header header;
	struct attr_entry *entries;
	size_t nr_entries, entries_capacity;
	struct jp_bytes attrs, ids; /* bytes of all @entries */
	uint64_t data;              /* offset of the first record */
	struct feature features[JP_PERF_FEATURES];
	/* Contents of the feature AUXTRACE: offset and size of each AUX record. */
	struct jp_bytes aux;
};

static int add_bytes(struct jp_bytes *out, const void *from, size_t size)
{
	jp_bytes_add(out, from, size);
	return out->failed ? -ENOMEM : 0;
}

static int add_attr(struct jp_perf_copy *copy, const unsigned char *attr, size_t size,
		    const unsigned char *ids, size_t ids_size)
{
	if (jp_array_append(
		    &copy->entries, &copy->nr_entries, &copy->entries_capacity,
		    (struct attr_entry){copy->attrs.size, size, {copy->ids.size, ids_size}}))
		return -ENOMEM;
	return add_bytes(&copy->attrs, attr, size) ?: add_bytes(&copy->ids, ids, ids_size);
}

/* Reads the @section at offset @offset. Returns its bytes, or NULL if the file does not contain all
 * of them: the reader has already rejected truncated files, but another user may change the file at
 * any time. */
static const unsigned char *find_section(const struct jp_perf_source *source, uint64_t offset,
					 struct jp_perf_section *section)
{
	if (offset > source->size || source->size - offset < sizeof(*section))
		return NULL;
	memcpy(section, source->map + offset, sizeof(*section));
	return section->offset > source->size || section->size > source->size - section->offset
		       ? NULL
		       : source->map + section->offset;
}

/* Copies attrs and features. The reader has checked that the attrs lie within the file. */
static int copy_header(struct jp_perf_copy *copy, const struct jp_perf_reader *reader)
{
	const struct jp_perf_source *source = &reader->source;
	const struct jp_perf_file_header header = reader->header;
	uint64_t table = header.data.offset + header.data.size;
	struct jp_perf_section section;
	const unsigned char *bytes;

	for (uint64_t offset = 0; offset < header.attrs.size; offset += header.attr_size) {
		const uint64_t size = header.attr_size - sizeof(section);
		const uint64_t entry = header.attrs.offset + offset;

		bytes = find_section(source, entry + size, &section);
		if (add_attr(copy, source->map + entry, size, bytes ?: source->map,
			     bytes ? section.size : 0))
			return -ENOMEM;
	}
	for (unsigned int i = 0; i < JP_PERF_FEATURES; i++) {
		if (!jp_perf_has_feature(&header, i))
			continue;
		bytes = find_section(source, table, &section);
		table += sizeof(section);
		copy->features[i].present = bytes;
		if (bytes && add_bytes(&copy->features[i].payload, bytes, section.size))
			return -ENOMEM;
	}
	return 0;
}

/* Writes the ids, then the table of attrs. All entries of a file have the same size, while those of
 * a pipe may differ; perf uses the size in each attr. */
static void write_attrs(struct jp_perf_copy *copy)
{
	static const unsigned char zeros[8];
	uint64_t ids = jp_output_offset(copy->output);
	size_t widest = JP_PERF_ATTR_SIZE_0;

	for (size_t i = 0; i < copy->nr_entries; i++)
		widest = jp_max(widest, copy->entries[i].size);
	jp_output_put(copy->output, copy->ids.bytes, copy->ids.size);
	copy->header.attrs.offset = jp_output_offset(copy->output);
	for (size_t i = 0; i < copy->nr_entries; i++) {
		const struct attr_entry *entry = &copy->entries[i];
		unsigned char *attr = copy->attrs.bytes + entry->offset;
		struct jp_perf_section section = entry->ids;

		if (entry->size < widest)
			memcpy(attr + offsetof(struct jp_perf_attr, size), &(uint32_t){widest},
			       sizeof(uint32_t));
		jp_output_put(copy->output, attr, entry->size);
		for (size_t nr_written = entry->size; nr_written < widest;
		     nr_written += sizeof(zeros))
			jp_output_put(copy->output, zeros,
				      jp_min(sizeof(zeros), widest - nr_written));
		section.offset += ids;
		jp_output_put(copy->output, &section, sizeof(section));
	}
	copy->header.attrs.size = jp_output_offset(copy->output) - copy->header.attrs.offset;
	copy->header.attr_size = widest + sizeof(struct jp_perf_section);
}

struct jp_perf_copy *jp_perf_copy_begin(const struct jp_perf_reader *reader,
					struct jp_output *output, struct jp_error *err)
{
	struct jp_perf_copy *copy;

	if (reader->attrs.swapped) {
		jp_fail(err, EINVAL,
			"%s: expected a perf.data of this machine's byte order: the copy is not "
			"swapped",
			reader->source.name);
		return NULL;
	}
	if (!reader->source.map) {
		jp_fail(err, EINVAL, "%s: expected a regular file: the input is read twice",
			reader->source.name);
		return NULL;
	}
	copy = calloc(1, sizeof(*copy));
	if (!copy || (!reader->summary->pipe && copy_header(copy, reader))) {
		jp_fail(err, ENOMEM, "%s: out of memory while copying it", reader->source.name);
		jp_perf_copy_free(copy);
		return NULL;
	}
	copy->output = output;
	copy->pipe = reader->summary->pipe;
	copy->header.magic = JP_PERF_MAGIC;
	copy->header.size = sizeof(copy->header);
	/* Keep the data size 0 until the end, as in a perf.data whose writer died. */
	jp_output_put(output, &copy->header, sizeof(copy->header));
	if (!copy->pipe)
		write_attrs(copy);
	copy->data = jp_output_offset(output);
	return copy;
}

static int add_pipe_record(struct jp_perf_copy *copy, uint32_t type, const unsigned char *bytes,
			   uint64_t size)
{
	uint64_t feature = jp_load64(bytes + sizeof(struct jp_perf_record));
	uint32_t attr_size = feature >> 32 ? feature >> 32 : JP_PERF_ATTR_SIZE_0;
	const unsigned char *ids = bytes + sizeof(struct jp_perf_record) + attr_size;

	if (type == JP_PERF_RECORD_HEADER_ATTR)
		return add_attr(copy, bytes + sizeof(struct jp_perf_record), attr_size, ids,
				(bytes + size - ids) / 8 * 8);
	/* Skip the end mark, and features for which a file's header has no bit. */
	if (feature >= JP_PERF_FEATURES || size <= 16)
		return 0;
	copy->features[feature].present = true;
	copy->features[feature].payload.size = 0;
	return add_bytes(&copy->features[feature].payload, bytes + 16, size - 16);
}

int jp_perf_copy_other(struct jp_perf_copy *copy, const unsigned char *bytes, uint64_t size)
{
	struct jp_perf_record record;

	memcpy(&record, bytes, sizeof(record));
	/* The reader has checked the contents of records of these two types. */
	if (copy->pipe && (record.type == JP_PERF_RECORD_HEADER_ATTR ||
			   record.type == JP_PERF_RECORD_HEADER_FEATURE))
		return add_pipe_record(copy, record.type, bytes, size);
	if (record.type == JP_PERF_RECORD_AUXTRACE) {
		const uint64_t position[2] = {jp_output_offset(copy->output), record.size};

		if (add_bytes(&copy->aux, position, sizeof(position)))
			return -ENOMEM;
	}
	jp_output_put(copy->output, bytes, size);
	return 0;
}

/* Replaces the feature AUXTRACE, since the AUX records have moved. */
static int rebuild_aux(struct jp_perf_copy *copy)
{
	struct feature *feature = &copy->features[JP_PERF_FEATURE_AUXTRACE];
	uint64_t count = copy->aux.size / 16;

	if (!feature->present)
		return 0;
	feature->payload.size = 0;
	return add_bytes(&feature->payload, &count, sizeof(count)) ||
			       add_bytes(&feature->payload, copy->aux.bytes, copy->aux.size)
		       ? -ENOMEM
		       : 0;
}

int jp_perf_copy_end(struct jp_perf_copy *copy)
{
	struct jp_perf_section table[JP_PERF_FEATURES] = {0};
	uint64_t end = jp_output_offset(copy->output);
	unsigned int count = 0, next = 0;

	copy->features[JP_PERF_FEATURE_COMPRESSED].present = false;
	if (rebuild_aux(copy))
		return -ENOMEM;
	for (unsigned int i = 0; i < JP_PERF_FEATURES; i++)
		count += copy->features[i].present;
	/* The table of features directly follows the data. It is written when the offsets of the
	 * features are known. */
	jp_output_put(copy->output, table, count * sizeof(*table));
	for (unsigned int i = 0; i < JP_PERF_FEATURES; i++) {
		const struct feature *feature = &copy->features[i];

		if (!feature->present)
			continue;
		table[next].offset = jp_output_offset(copy->output);
		jp_output_put(copy->output, feature->payload.bytes, feature->payload.size);
		table[next].size = jp_output_offset(copy->output) - table[next].offset;
		next++;
		copy->header.features[i / 64] |= UINT64_C(1) << i % 64;
	}
	jp_output_rewrite(copy->output, end, table, count * sizeof(*table));
	if (copy->pipe)
		write_attrs(copy);
	copy->header.data = (struct jp_perf_section){copy->data, end - copy->data};
	jp_output_rewrite(copy->output, 0, &copy->header, sizeof(copy->header));
	return 0;
}

void jp_perf_copy_free(struct jp_perf_copy *copy)
{
	if (!copy)
		return;
	for (unsigned int i = 0; i < JP_PERF_FEATURES; i++)
		jp_bytes_free(&copy->features[i].payload);
	free(copy->entries);
	jp_bytes_free(&copy->attrs);
	jp_bytes_free(&copy->ids);
	jp_bytes_free(&copy->aux);
	free(copy);
}
