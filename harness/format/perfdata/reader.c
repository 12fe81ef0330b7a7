// SPDX-License-Identifier: GPL-2.0-only
#include "harness/format/perfdata/reader.h"

#include <elf.h>
#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "harness/base/load.h"
#include "harness/base/page.h"
#include "harness/format/perfdata/attrs.h"
#include "harness/format/perfdata/format.h"
#include "harness/format/perfdata/swap.h"

/* Offsets: record header, pid, build id, its size, name. */
enum { PID_AT = 8, ID_AT = 12, SIZE_AT = 32, NAME_AT = 36, ID_SIZE = 20 };

/* Parses the build id record at @bytes, where @size > 0 bytes are available. @swapped: the record
 * is in the other byte order. Fills @event (JP_EVENT_BUILD_ID), which points into the record, and
 * stores the record's size in *@record_size. Returns NULL, or what was expected. */
static const char *perf_parse_build_id(const unsigned char *bytes, uint64_t size, bool swapped,
				       struct jp_event *event, size_t *record_size)
{
	struct jp_perf_record record;
	uint8_t id_size = ID_SIZE;

	if (size < sizeof(record))
		return "a build id of at least 37 bytes";
	memcpy(&record, bytes, sizeof(record));
	if (swapped)
		jp_perf_swap_record_header(&record);
	if (record.size <= NAME_AT || record.size > size)
		return "a build id of at least 37 bytes that fits into its section";
	if (!memchr(bytes + NAME_AT, '\0', record.size - NAME_AT))
		return "the name of a build id to end with it";
	if (record.misc & JP_PERF_MISC_BUILD_ID_SIZE)
		id_size = bytes[SIZE_AT];
	if (id_size > ID_SIZE)
		return "a build id of at most 20 bytes";
	*event = (struct jp_event){
		.type = JP_EVENT_BUILD_ID,
		.record_type = JP_PERF_RECORD_HEADER_BUILD_ID,
		.misc = record.misc,
		.kernel_map = (record.misc & JP_PERF_MISC_CPUMODE) == JP_PERF_MISC_KERNEL,
		.map = {.build_id = bytes + ID_AT,
			.build_id_size = id_size,
			.name = (const char *)bytes + NAME_AT},
	};
	memcpy(&event->pid, bytes + PID_AT, sizeof(event->pid));
	if (swapped)
		event->pid = __builtin_bswap32(event->pid);
	*record_size = record.size;
	return NULL;
}

enum { MAX_ATTR = 65536 };

int jp_perf_fail(struct jp_perf_reader *reader, uint64_t offset, const char *fmt, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	return jp_fail(reader->err, EINVAL, "%s: offset %llu: %s", reader->source.name,
		       (unsigned long long)offset, text);
}

int jp_perf_fail_cut_short(struct jp_perf_reader *reader, uint64_t offset, const char *fmt, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (*reader->truncation.text)
		return -ENODATA;
	return jp_fail(&reader->truncation, ENODATA, "%s: cut short at offset %llu: %s",
		       reader->source.name, (unsigned long long)offset, text);
}

int jp_perf_fail_memory(struct jp_perf_reader *reader)
{
	return jp_fail(reader->err, ENOMEM, "%s: out of memory", reader->source.name);
}

uint32_t jp_perf_read32(const struct jp_perf_reader *reader, const void *bytes)
{
	const uint32_t value = jp_load32(bytes);

	return reader->attrs.swapped ? __builtin_bswap32(value) : value;
}

uint64_t jp_perf_read64(const struct jp_perf_reader *reader, const void *bytes)
{
	uint64_t value = jp_load64(bytes);

	return reader->attrs.swapped ? __builtin_bswap64(value) : value;
}

static struct jp_perf_section read_section(const struct jp_perf_reader *reader,
					   const unsigned char *pos)
{
	return (struct jp_perf_section){jp_perf_read64(reader, pos),
					jp_perf_read64(reader, pos + 8)};
}

/* Sets the machine of the file. @machine NULL: this build does not support it. */
static void set_machine(struct jp_perf_reader *reader, const struct jp_machine *machine)
{
	uint32_t e_machine = machine ? machine->e_machine : EM_NONE;

	reader->summary->e_machine = e_machine;
	jp_perf_attrs_set_machine(&reader->attrs, e_machine);
}

int jp_perf_read_build_ids(struct jp_perf_reader *reader, const unsigned char *bytes, uint64_t size,
			   uint64_t offset)
{
	struct jp_event event;
	size_t record_size;
	int ret = 0;

	for (uint64_t read_size = 0; reader->report_build_ids && !ret && read_size < size;
	     read_size += record_size) {
		const char *expected =
			perf_parse_build_id(bytes + read_size, size - read_size,
					    reader->attrs.swapped, &event, &record_size);

		if (expected)
			return jp_perf_fail(reader, offset + read_size, "expected %s", expected);
		event.file_offset = offset + read_size;
		ret = reader->visit(reader->context, &event);
	}
	return ret;
}

/* Reads a feature that is not needed to read the records. */
static void read_optional_feature(struct jp_perf_reader *reader, uint64_t feature,
				  const unsigned char *bytes, uint64_t size)
{
	struct jp_perfdata_summary *summary = reader->summary;

	switch (feature) {
	case JP_PERF_FEATURE_EVENT_DESC:
		summary->described = jp_perf_compare_event_desc(&reader->attrs, bytes, size);
		break;
	case JP_PERF_FEATURE_SAMPLE_TIME:
		summary->has_sample_times = size >= 2 * sizeof(uint64_t);
		for (unsigned int i = 0; summary->has_sample_times && i < 2; i++)
			summary->sample_times[i] =
				jp_perf_read64(reader, bytes + i * sizeof(uint64_t));
		break;
	case JP_PERF_FEATURE_CLOCKID:
		summary->has_clock_resolution = size >= sizeof(uint64_t);
		if (summary->has_clock_resolution)
			summary->clock_resolution = jp_perf_read64(reader, bytes);
		break;
	}
}

int jp_perf_read_feature(struct jp_perf_reader *reader, uint64_t feature,
			 const unsigned char *bytes, uint64_t size, uint64_t offset)
{
	struct jp_perfdata_summary *summary = reader->summary;
	char *text = NULL;
	size_t room = 0;
	uint32_t word;

	if (feature == JP_PERF_FEATURE_BUILD_ID)
		return jp_perf_read_build_ids(reader, bytes, size, offset);
	if (feature == JP_PERF_FEATURE_ARCH) {
		text = summary->arch;
		room = sizeof(summary->arch);
	} else if (feature == JP_PERF_FEATURE_VERSION) {
		text = summary->version;
		room = sizeof(summary->version);
	} else if (feature == JP_PERF_FEATURE_OSRELEASE) {
		text = summary->release;
		room = sizeof(summary->release);
	} else if (feature != JP_PERF_FEATURE_E_MACHINE && feature != JP_PERF_FEATURE_NRCPUS) {
		read_optional_feature(reader, feature, bytes, size);
		return 0;
	}
	if (!size)
		return 0; /* an empty feature in a stream means an absent feature */
	if (size < sizeof(word))
		return jp_perf_fail(reader, offset,
				    "expected at least 4 bytes of feature %llu, found %llu",
				    (unsigned long long)feature, (unsigned long long)size);
	word = jp_perf_read32(reader, bytes);
	if (feature == JP_PERF_FEATURE_E_MACHINE) {
		set_machine(reader, jp_machine_find(word));
		return 0;
	}
	if (feature == JP_PERF_FEATURE_NRCPUS) {
		summary->cpus = word;
		if (size >= 2 * sizeof(word))
			summary->cpus_on = jp_perf_read32(reader, bytes + sizeof(word));
		return 0;
	}
	if (word > size - sizeof(word))
		return jp_perf_fail(reader, offset,
				    "expected a string of at most %llu bytes, found %u",
				    (unsigned long long)(size - sizeof(word)), word);
	snprintf(text, room, "%.*s", (int)word, (const char *)bytes + sizeof(word));
	if (feature == JP_PERF_FEATURE_ARCH)
		set_machine(reader, jp_machine_named(text));
	return 0;
}

int jp_perf_add_attr(struct jp_perf_reader *reader, const void *bytes, size_t size, const void *ids,
		     size_t nr_ids, uint64_t offset)
{
	const char *expected = jp_perf_attrs_add(&reader->attrs, bytes, size, ids, nr_ids);
	const struct jp_perf_attr *attr;

	if (expected && strcmp(expected, "memory") == 0)
		return jp_perf_fail_memory(reader);
	if (expected)
		return jp_perf_fail(reader, offset, "expected %s", expected);
	attr = &reader->attrs.list[reader->attrs.count - 1].attr;
	if (!jp_perf_is_monotonic(attr))
		reader->summary->monotonic = false;
	reader->summary->attrs = (uint32_t)reader->attrs.count;
	reader->summary->last_ids = nr_ids;
	reader->summary->counts_lost &= !!(attr->read_format & JP_PERF_FORMAT_LOST);
	reader->summary->own_attrs += jp_perf_is_own_attr(attr);
	reader->summary->on_exec += !!(attr->flags & JP_PERF_ATTR_ENABLE_ON_EXEC);
	if (!reader->summary->e_machine)
		set_machine(reader, jp_machine_guess(attr->sample_regs_user));
	return 0;
}

/* Returns the bytes of @section, or NULL and a message if the file does not contain all of them.
 * @named_at: offset of the entry that describes the section; @section_name: the section's name in
 * the message. */
static const unsigned char *find_section(struct jp_perf_reader *reader,
					 const struct jp_perf_section *section, uint64_t named_at,
					 const char *section_name)
{
	uint64_t size = reader->source.size;

	if (section->offset > size || section->size > size - section->offset) {
		jp_perf_fail(reader, named_at,
			     "expected %s within the %llu bytes of the file, found %llu bytes "
			     "at offset %llu",
			     section_name, (unsigned long long)size,
			     (unsigned long long)section->size,
			     (unsigned long long)section->offset);
		return NULL;
	}
	return reader->source.map + section->offset;
}

/* Returns the ids in the section @ids, or as many as the file contains: a writer may write ids
 * last, so a truncated file may lack them. */
static const unsigned char *find_ids(struct jp_perf_reader *reader, struct jp_perf_section *ids,
				     uint64_t named_at)
{
	const uint64_t end = ids->offset + ids->size, size = reader->source.size;

	if (end < ids->offset || end <= size)
		return find_section(reader, ids, named_at, "the attr's ids");
	jp_perf_fail_cut_short(reader, size, "expected ids of events up to offset %llu",
			       (unsigned long long)end);
	reader->attrs.ids_missing = true;
	*ids = (struct jp_perf_section){0};
	return reader->source.map;
}

/* Refuses a file whose header its writer never completed. perf inject writes the header last from
 * 6.12 at the latest, and in 6.1 a beginning of it first. */
static int fail_unwritten(struct jp_perf_reader *reader, uint64_t offset, const char *expected)
{
	reader->summary->unwritten = reader->source.map; /* nobody can rewrite a pipe's header */
	return jp_perf_fail(reader, offset,
			    "expected %s, found none: the command that wrote the file, such as "
			    "perf inject, failed",
			    expected);
}

static int read_attrs(struct jp_perf_reader *reader, const struct jp_perf_file_header *header)
{
	uint64_t step = header->attr_size, attr_offset = header->attrs.offset;
	const unsigned char *entries = find_section(
		reader, &header->attrs, offsetof(struct jp_perf_file_header, attrs), "the attrs");

	if (!entries)
		return -EINVAL;
	if (!step && !header->attrs.size && !header->data.size)
		return fail_unwritten(reader, offsetof(struct jp_perf_file_header, attr_size),
				      "a description of the events");
	if (step < JP_PERF_ATTR_SIZE_0 + sizeof(struct jp_perf_section) || step > MAX_ATTR ||
	    header->attrs.size % step || !header->attrs.size)
		return jp_perf_fail(
			reader, offsetof(struct jp_perf_file_header, attr_size),
			"expected one or more attrs of at least 80 bytes, found %llu bytes of "
			"attrs of %llu bytes",
			(unsigned long long)header->attrs.size, (unsigned long long)step);
	for (uint64_t i = 0; i < header->attrs.size / step; i++, attr_offset += step) {
		struct jp_perf_section ids;
		const unsigned char *id_bytes;
		int ret;

		ids = read_section(reader, entries + (i + 1) * step - sizeof(ids));
		id_bytes = find_ids(reader, &ids, attr_offset + step - sizeof(ids));
		if (!id_bytes)
			return -EINVAL;
		ret = jp_perf_add_attr(reader, entries + i * step, step - sizeof(ids), id_bytes,
				       ids.size / sizeof(uint64_t), attr_offset);
		if (ret)
			return ret;
	}
	return 0;
}

/* Returns whether @feature overlaps @attrs. perf inject -b of a pipe (6.12 to 7.3) overwrites the
 * build ids with the attrs, and perf takes the rest for an absence of build ids. */
static bool is_overwritten(const struct jp_perf_section *feature,
			   const struct jp_perf_section *attrs)
{
	return feature->offset < attrs->offset + attrs->size &&
	       attrs->offset < feature->offset + feature->size;
}

static int read_features(struct jp_perf_reader *reader, const struct jp_perf_file_header *header)
{
	uint64_t entry_offset = header->data.offset + header->data.size;

	for (unsigned int feature = 0; feature < JP_PERF_FEATURES; feature++) {
		struct jp_perf_section section, entry = {entry_offset, sizeof(section)};
		const unsigned char *bytes;
		int ret;

		if (!jp_perf_has_feature(header, feature))
			continue;
		if (entry_offset + sizeof(section) > reader->source.size)
			return jp_perf_fail_cut_short(
				reader, reader->source.size,
				"expected the table of its features after the data");
		bytes = find_section(reader, &entry, entry_offset, "the table entry of a feature");
		if (!bytes)
			return -EINVAL;
		section = read_section(reader, bytes);
		if (section.offset <= reader->source.size &&
		    section.size > reader->source.size - section.offset)
			return jp_perf_fail_cut_short(
				reader, reader->source.size,
				"expected feature %u to extend to offset %llu", feature,
				(unsigned long long)(section.offset + section.size));
		bytes = find_section(reader, &section, entry_offset, "a feature");
		if (!bytes)
			return -EINVAL;
		entry_offset += sizeof(section);
		if (is_overwritten(&section, &header->attrs)) {
			reader->summary->overwritten++;
			continue;
		}
		ret = jp_perf_read_feature(reader, feature, bytes, section.size, section.offset);
		if (ret)
			return ret;
	}
	return 0;
}

/* Returns whether a file is finished although its header states a data size of 0. Then the table of
 * features starts where records would start, and its first entry contains an offset right after the
 * table. */
static bool is_finished(const struct jp_perf_reader *reader,
			const struct jp_perf_file_header *header)
{
	const struct jp_perf_source *source = &reader->source;
	const uint64_t table = header->data.offset;
	uint64_t first;

	if (table > source->size || source->size - table < sizeof(struct jp_perf_section))
		return false;
	first = jp_perf_read64(reader, source->map + table);
	return first > table && first - table <= JP_PERF_FEATURES * sizeof(struct jp_perf_section);
}

static int read_file_header(struct jp_perf_reader *reader, const struct jp_perf_file_header *header)
{
	struct jp_perf_source *source = &reader->source;
	int ret;

	if (!source->map)
		return jp_perf_fail(
			reader, 8,
			"expected the header of a pipe (16 bytes), found that of a file, "
			"which a pipe cannot carry: name the file instead");
	ret = read_attrs(reader, header);
	if (ret)
		return ret;
	source->offset = header->data.offset;
	if (!header->data.size && !is_finished(reader, header)) {
		/* The writer died before it could rewrite the header. */
		if (source->offset > source->size)
			return jp_perf_fail(
				reader, offsetof(struct jp_perf_file_header, data),
				"expected the data within the %llu bytes of the file, found it at "
				"offset %llu",
				(unsigned long long)source->size,
				(unsigned long long)source->offset);
		jp_perf_fail_cut_short(
			reader, source->size,
			"the header states no size of the data: the recording was not finished");
		source->end = source->size;
	} else if (source->offset < source->size &&
		   header->data.size > source->size - source->offset) {
		jp_perf_fail_cut_short(reader, source->size, "expected data up to offset %llu",
				       (unsigned long long)(source->offset + header->data.size));
		source->end = source->size;
	} else if (!find_section(reader, &header->data, offsetof(struct jp_perf_file_header, data),
				 "the data")) {
		return -EINVAL;
	} else {
		source->end = source->offset + header->data.size;
		ret = read_features(reader, header);
	}
	if (ret && ret != -ENODATA)
		return ret;
	source->populated = source->offset & -(uint64_t)JP_PAGE_LARGEST;
	return 0;
}

/* Reads the first 16 bytes, which determine the byte order. Linux up to 3.3 wrote "PERFFILE" in
 * either byte order: for that magic, the header's size decides, which is below 2^32. */
static int read_magic(struct jp_perf_reader *reader, struct jp_perf_file_header *header)
{
	size_t nr_read;
	const unsigned char *bytes = jp_source_peek(
		&reader->source, sizeof(struct jp_perf_pipe_header), &nr_read, reader->err);

	if (!bytes)
		return -EIO;
	if (nr_read < sizeof(struct jp_perf_pipe_header))
		return jp_perf_fail(reader, 0,
				    "expected a perf.data header, found %zu bytes in all", nr_read);
	memcpy(header, bytes, nr_read);
	if (memcmp(bytes, "PERFFILE", sizeof(header->magic)) == 0)
		reader->attrs.swapped = header->size > UINT32_MAX;
	else if (header->magic == JP_PERF_MAGIC_SWAPPED)
		reader->attrs.swapped = true;
	else if (!header->magic && !header->size)
		return fail_unwritten(reader, 0, "\"PERFILE2\"");
	else if (header->magic != JP_PERF_MAGIC)
		return jp_perf_fail(reader, 0, "expected \"PERFILE2\": this is no perf.data");
	reader->summary->swapped = reader->attrs.swapped;
	header->size = jp_perf_read64(reader, &header->size);
	return 0;
}

int jp_perf_read_header(struct jp_perf_reader *reader)
{
	enum { NO_FEATURES = offsetof(struct jp_perf_file_header, features) };
	struct jp_perf_file_header header = {0};
	const unsigned char *bytes;
	size_t nr_read, size;
	int ret = read_magic(reader, &header);

	if (ret)
		return ret;
	size = header.size;
	if (size == sizeof(struct jp_perf_pipe_header)) {
		reader->summary->pipe = true;
		jp_source_advance(&reader->source, size);
		return 0;
	}
	if (size != sizeof(header) && size != NO_FEATURES)
		return jp_perf_fail(
			reader, 8, "expected a header of 16 bytes (pipe) or 104 (file), found %llu",
			(unsigned long long)header.size);
	bytes = jp_source_peek(&reader->source, size, &nr_read, reader->err);
	if (!bytes)
		return -EIO;
	if (nr_read == sizeof(struct jp_perf_pipe_header))
		return fail_unwritten(reader, nr_read, "the rest of the header");
	if (nr_read < size)
		return jp_perf_fail(reader, nr_read,
				    "expected a header of %zu bytes, found the end of the file",
				    size);
	memcpy(&header, bytes, size);
	if (reader->attrs.swapped)
		jp_perf_swap_file_header(&header);
	reader->header = header;
	return read_file_header(reader, &header);
}
