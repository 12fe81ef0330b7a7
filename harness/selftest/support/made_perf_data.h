/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stddef.h>

#include "harness/format/perfdata/format.h"
#include "harness/selftest/support/scratch.h"

/* Builds a perf.data file: a header, one attr, records, feature sections. */
enum { PERF_FILE_MOST = 1 << 21, PERF_FILE_DATA = 104 + 120 + 16 };
struct perf_file {
	unsigned char bytes[PERF_FILE_MOST];
	size_t size;
};

static void perf_file_put(struct perf_file *file, const void *bytes, size_t size)
{
	if (size > sizeof(file->bytes) - file->size)
		exit(99);
	if (size)
		memcpy(file->bytes + file->size, bytes, size);
	file->size += size;
}

static struct jp_perf_file_header *perf_file_header(struct perf_file *file)
{
	return (struct jp_perf_file_header *)file->bytes;
}

/* Begins a file with the first 120 bytes of @attr and no event ids. */
static void perf_file_begin(struct perf_file *file, const struct jp_perf_attr *attr)
{
	const struct jp_perf_file_header header = {
		.magic = JP_PERF_MAGIC,
		.size = sizeof(header),
		.attr_size = 120 + sizeof(struct jp_perf_section),
		.attrs = {sizeof(header), 120 + sizeof(struct jp_perf_section)},
	};
	const struct jp_perf_section no_sections = {0};

	file->size = 0;
	perf_file_put(file, &header, sizeof(header));
	perf_file_put(file, attr, 120);
	perf_file_put(file, &no_sections, sizeof(no_sections));
}

/* Appends a record: a perf_event_header and @body of @size bytes. */
static void perf_file_record(struct perf_file *file, uint32_t type, uint16_t misc, const void *body,
			     size_t size)
{
	const struct jp_perf_record record = {type, misc, (uint16_t)(sizeof(record) + size)};

	perf_file_put(file, &record, sizeof(record));
	perf_file_put(file, body, size);
}

#ifdef JP_HAVE_ZSTD
enum { PERF_FILE_ZSTD = 1 };
#else
enum { PERF_FILE_ZSTD = 0 };
#endif

/* Appends a COMPRESSED record of a zstd frame with one raw block of @size bytes, less than 256. */
__attribute__((unused)) static void perf_file_add_compressed(struct perf_file *file,
							     const void *bytes, size_t size)
{
	unsigned char frame[9 + 255] = {0x28,
					0xb5,
					0x2f,
					0xfd,
					0x20,
					(unsigned char)size,
					(size << 3 | 1) & 255,
					(unsigned char)(size >> 5)};

	memcpy(frame + 9, bytes, size);
	perf_file_record(file, JP_PERF_RECORD_COMPRESSED, 0, frame, 9 + size);
}

static void perf_file_end_data(struct perf_file *file)
{
	perf_file_header(file)->data =
		(struct jp_perf_section){PERF_FILE_DATA, file->size - PERF_FILE_DATA};
}

/* Shortens the header of a whole file to the old layout without feature bits. */
__attribute__((unused)) static void perf_file_shorten_header(struct perf_file *file)
{
	enum { OLD = offsetof(struct jp_perf_file_header, features) };
	struct jp_perf_file_header *header = perf_file_header(file);
	const size_t nr_omitted = sizeof(*header) - OLD;

	header->size = OLD;
	header->attrs.offset -= nr_omitted;
	header->data.offset -= nr_omitted;
	file->size -= nr_omitted;
	memmove(file->bytes + OLD, file->bytes + sizeof(*header), file->size - OLD);
}

struct perf_file_feature {
	unsigned int number;
	const void *bytes;
	size_t size;
};

/* Appends feature sections, which must be in the order of their numbers. */
__attribute__((unused)) static void perf_file_add_features(struct perf_file *file,
							   const struct perf_file_feature *features,
							   size_t count)
{
	size_t table = file->size;
	struct jp_perf_section section;

	for (size_t i = 0; i < count; i++)
		perf_file_put(file, &(struct jp_perf_section){0}, sizeof(section));
	for (size_t i = 0; i < count; i++) {
		section = (struct jp_perf_section){file->size, features[i].size};
		perf_file_put(file, features[i].bytes, features[i].size);
		memcpy(file->bytes + table + i * sizeof(section), &section, sizeof(section));
		perf_file_header(file)->features[features[i].number / 64] |=
			UINT64_C(1) << features[i].number % 64;
	}
}

static const char *perf_file_store(const struct perf_file *file, const char *name)
{
	const char *path = scratch_path(name);

	if (!scratch_write(path, file->bytes, file->size))
		exit(99);
	return path;
}
