// SPDX-License-Identifier: GPL-2.0-only
#include "harness/format/perfdata/reader.h"

#include <elf.h>
#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "harness/format/perfdata/decode.h"
#include "harness/format/perfdata/build_ids.h"
#include "harness/format/perfdata/format.h"

enum { MAX_ATTR = 65536 };

int jp_perf_bad(struct jp_perf_reader *reader, uint64_t offset, const char *fmt, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	return jp_fail(reader->err, EINVAL, "%s: offset %llu: %s", reader->source.name,
		       (unsigned long long)offset, text);
}

int jp_perf_no_memory(struct jp_perf_reader *reader)
{
	return jp_fail(reader->err, ENOMEM, "%s: no memory", reader->source.name);
}

/* @machine NULL: one that is not built in. */
static void set_machine(struct jp_perf_reader *reader, const struct jp_machine *machine)
{
	uint32_t e_machine = machine ? machine->e_machine : EM_NONE;

	reader->summary->e_machine = e_machine;
	jp_perf_attrs_machine(&reader->attrs, e_machine);
}

/* Of all features only the machine matters here. */
int jp_perf_read_build_ids(struct jp_perf_reader *reader, const unsigned char *bytes, uint64_t size,
			   uint64_t offset)
{
	struct jp_event event;
	size_t taken;
	int ret = 0;

	for (uint64_t at = 0; reader->gives_build_ids && !ret && at < size; at += taken) {
		const char *expected = jp_perf_build_id(bytes + at, size - at, &event, &taken);

		if (expected)
			return jp_perf_bad(reader, offset + at, "expected %s", expected);
		event.at = offset + at;
		ret = reader->visit(reader->context, &event);
	}
	return ret;
}

int jp_perf_read_feature(struct jp_perf_reader *reader, uint64_t feature,
			 const unsigned char *bytes, uint64_t size, uint64_t offset)
{
	char arch[32] = "";
	uint32_t word;

	if (feature == JP_PERF_FEATURE_BUILD_ID)
		return jp_perf_read_build_ids(reader, bytes, size, offset);
	if (feature != JP_PERF_FEATURE_ARCH && feature != JP_PERF_FEATURE_E_MACHINE)
		return 0;
	if (size < sizeof(word))
		return jp_perf_bad(reader, offset,
				   "expected at least 4 bytes of feature %llu, found %llu",
				   (unsigned long long)feature, (unsigned long long)size);
	memcpy(&word, bytes, sizeof(word));
	if (feature == JP_PERF_FEATURE_E_MACHINE) {
		set_machine(reader, jp_machine_find(word));
		return 0;
	}
	if (word > size - sizeof(word))
		return jp_perf_bad(reader, offset,
				   "expected a string of at most %llu bytes, found %u",
				   (unsigned long long)(size - sizeof(word)), word);
	memcpy(arch, bytes + sizeof(word), word < sizeof(arch) ? word : sizeof(arch) - 1);
	set_machine(reader, jp_machine_named(arch));
	return 0;
}

int jp_perf_add_attr(struct jp_perf_reader *reader, const void *bytes, size_t size, const void *ids,
		     size_t nr_ids, uint64_t offset)
{
	const char *expected = jp_perf_attrs_add(&reader->attrs, bytes, size, ids, nr_ids);
	const struct jp_perf_attr *attr;

	if (expected && strcmp(expected, "memory") == 0)
		return jp_perf_no_memory(reader);
	if (expected)
		return jp_perf_bad(reader, offset, "expected %s", expected);
	attr = &reader->attrs.all[reader->attrs.count - 1].attr;
	if (!jp_perf_attr_monotonic(attr))
		reader->summary->monotonic = false;
	reader->summary->attrs = (uint32_t)reader->attrs.count;
	if (!reader->summary->e_machine)
		set_machine(reader, jp_machine_guess(attr->sample_regs_user));
	return 0;
}

/* The @section of the file, whole; NULL and a message where it does not lie within the file. */
static const unsigned char *section_of(struct jp_perf_reader *reader,
				       const struct jp_perf_section *section, uint64_t named_at,
				       const char *what)
{
	uint64_t size = reader->source.size;

	if (section->offset > size || section->size > size - section->offset) {
		jp_perf_bad(reader, named_at,
			    "expected %s within the %llu bytes of the file, found %llu bytes "
			    "at offset %llu",
			    what, (unsigned long long)size, (unsigned long long)section->size,
			    (unsigned long long)section->offset);
		return NULL;
	}
	return reader->source.map + section->offset;
}

static int read_attrs(struct jp_perf_reader *reader, const struct jp_perf_file_header *header)
{
	uint64_t step = header->attr_size, at = header->attrs.offset;
	const unsigned char *entries = section_of(
		reader, &header->attrs, offsetof(struct jp_perf_file_header, attrs), "the attrs");

	if (!entries)
		return -EINVAL;
	if (step < JP_PERF_ATTR_SIZE_0 + sizeof(struct jp_perf_section) || step > MAX_ATTR ||
	    header->attrs.size % step || !header->attrs.size)
		return jp_perf_bad(
			reader, offsetof(struct jp_perf_file_header, attr_size),
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
		ret = jp_perf_add_attr(reader, entries + i * step, step - sizeof(ids), id_bytes,
				       ids.size / sizeof(uint64_t), at);
		if (ret)
			return ret;
	}
	return 0;
}

static int read_features(struct jp_perf_reader *reader, const struct jp_perf_file_header *header)
{
	uint64_t at = header->data.offset + header->data.size;

	for (unsigned int feature = 0; feature < JP_PERF_FEATURES; feature++) {
		struct jp_perf_section section, entry = {at, sizeof(section)};
		const unsigned char *bytes;
		int ret;

		if (!jp_perf_has_feature(header, feature))
			continue;
		bytes = section_of(reader, &entry, at, "the place of a feature");
		if (!bytes)
			return -EINVAL;
		memcpy(&section, bytes, sizeof(section));
		bytes = section_of(reader, &section, at, "a feature");
		if (!bytes)
			return -EINVAL;
		ret = jp_perf_read_feature(reader, feature, bytes, section.size, section.offset);
		if (ret)
			return ret;
		at += sizeof(section);
	}
	return 0;
}

static int read_file_header(struct jp_perf_reader *reader, const struct jp_perf_file_header *header)
{
	struct jp_perf_source *source = &reader->source;
	int ret;

	if (!source->map)
		return jp_perf_bad(
			reader, 8,
			"expected the header of a pipe (16 bytes), found that of a file, "
			"which a pipe cannot carry: name the file instead");
	ret = read_attrs(reader, header);
	if (ret)
		return ret;
	if (!header->data.size)
		return jp_perf_bad(
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

int jp_perf_read_header(struct jp_perf_reader *reader)
{
	struct jp_perf_file_header header = {0};
	size_t have;
	const unsigned char *bytes = jp_source_peek(
		&reader->source, sizeof(struct jp_perf_pipe_header), &have, reader->err);

	if (!bytes)
		return -EIO;
	if (have < sizeof(struct jp_perf_pipe_header))
		return jp_perf_bad(reader, 0, "expected a perf.data header, found %zu bytes in all",
				   have);
	memcpy(&header, bytes, have);
	if (header.magic == JP_PERF_MAGIC_SWAPPED)
		return jp_perf_bad(
			reader, 0,
			"expected this machine's byte order, found a perf.data of a machine "
			"of the other one");
	if (header.magic == JP_PERF_MAGIC_1)
		return jp_perf_bad(reader, 0,
				   "expected \"PERFILE2\", found \"PERFFILE\": a perf from before "
				   "Linux 2.6.33 wrote this");
	if (header.magic != JP_PERF_MAGIC)
		return jp_perf_bad(reader, 0, "expected \"PERFILE2\": this is no perf.data");
	if (header.size == sizeof(struct jp_perf_pipe_header)) {
		reader->summary->pipe = true;
		jp_source_advance(&reader->source, have);
		return 0;
	}
	if (header.size != sizeof(header))
		return jp_perf_bad(reader, 8,
				   "expected a header of 16 bytes (pipe) or 104 (file), found %llu",
				   (unsigned long long)header.size);
	bytes = jp_source_peek(&reader->source, sizeof(header), &have, reader->err);
	if (!bytes)
		return -EIO;
	if (have < sizeof(header))
		return jp_perf_bad(reader, have,
				   "expected a header of 104 bytes, found the end of the file");
	memcpy(&header, bytes, sizeof(header));
	return read_file_header(reader, &header);
}
