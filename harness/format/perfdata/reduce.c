// SPDX-License-Identifier: GPL-2.0-only
#include "harness/format/perfdata/reduce.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/base/cleanup.h"
#include "harness/base/file.h"
#include "harness/base/printable.h"
#include "harness/format/perfdata/format.h"
#include "harness/format/perfdata/read.h"

enum { MAX_FEATURE = 1 << 20, MAX_NAME = 255 };

/* Returns whether the header keeps @feature. */
static bool is_kept(unsigned feature)
{
	static const enum jp_perf_feature kept_features[] = {
		JP_PERF_FEATURE_OSRELEASE,  JP_PERF_FEATURE_VERSION,     JP_PERF_FEATURE_ARCH,
		JP_PERF_FEATURE_NRCPUS,     JP_PERF_FEATURE_CMDLINE,     JP_PERF_FEATURE_EVENT_DESC,
		JP_PERF_FEATURE_E_MACHINE,  JP_PERF_FEATURE_SAMPLE_TIME, JP_PERF_FEATURE_CLOCKID,
		JP_PERF_FEATURE_CLOCK_DATA,
	};

	for (size_t i = 0; i < sizeof(kept_features) / sizeof(kept_features[0]); i++)
		if (kept_features[i] == feature)
			return true;
	return false;
}

struct reducing {
	const char *path;
	int fd;
	bool failed;
	struct jp_reduced *reduced;
	struct jp_error *err;
};

static int fail_memory(struct reducing *reducing)
{
	return jp_fail(reducing->err, ENOMEM, "%s: out of memory", reducing->path);
}

static int add_word(struct reducing *reducing, struct jp_word_set *set, const void *word,
		    size_t size)
{
	return jp_word_set_add(set, word, size) ? fail_memory(reducing) : 0;
}

static int read_at(struct reducing *reducing, void *bytes, size_t size, uint64_t offset)
{
	return jp_file_read_at(reducing->fd, reducing->path, bytes, size, offset, reducing->err);
}

static int write_at(struct reducing *reducing, const void *bytes, size_t size, uint64_t offset)
{
	int ret = lseek(reducing->fd, (off_t)offset, SEEK_SET) < 0
			  ? -errno
			  : jp_file_write(reducing->fd, bytes, size);

	return ret ? jp_fail(reducing->err, -ret, "%s: offset %" PRIu64 ": %s", reducing->path,
			     offset, strerror(-ret))
		   : 0;
}

static int blank_bytes(struct reducing *reducing, uint64_t offset, uint64_t size, char filler)
{
	char block[4096];
	int ret = 0;

	memset(block, filler, sizeof(block));
	for (uint64_t nr_written = 0; nr_written < size && !ret; nr_written += sizeof(block))
		ret = write_at(reducing, block,
			       size - nr_written < sizeof(block) ? size - nr_written
								 : sizeof(block),
			       offset + nr_written);
	return ret;
}

/* Returns whether @bytes are well-formed UTF-8 without control characters. */
static bool is_text(const unsigned char *bytes, size_t size)
{
	for (size_t offset = 0, length; offset < size; offset += length) {
		unsigned char some[5] = {0};

		memcpy(some, bytes + offset, size - offset < 4 ? size - offset : 4);
		length = jp_utf8_length(some);
		if (!length || some[0] == 0x7f)
			return false;
	}
	return true;
}

/* Returns the length of NAME in "NAME=VALUE" at @text, or 0 if there is none, and stores the length
 * of VALUE in *@value. Options of the command line have this form too. Memory with addresses may
 * resemble it: the upper bytes of an address are zeros, so an address can end or be such text. */
static size_t match_variable(const unsigned char *text, size_t size, size_t *value)
{
	size_t length = 0, end;

	while (length < size && text[length] &&
	       (isalnum(text[length]) || strchr("_-.%()", text[length])))
		length++;
	if (length < 2 || length > MAX_NAME || length == size || text[length] != '=' ||
	    isdigit(text[0]))
		return 0;
	for (end = length + 1; end < size && text[end]; end++)
		if (text[end] < ' ' && text[end] != '\t' && text[end] != '\n' && text[end] != 27)
			return 0;
	/* The text reaches the end of the dump, so it contains no address. */
	if (end < size &&
	    (end < sizeof(uint64_t) - 1 || (end < 2 * sizeof(uint64_t) && !is_text(text, end))))
		return 0;
	*value = end - length - 1;
	return length;
}

/* Overwrites VALUE with blanks: @value bytes after the @length bytes "NAME=" at @text, which are at
 * offset @offset in the file. Fails if the file does not contain them there, because the dump was
 * compressed. */
static int blank_value(struct reducing *reducing, const unsigned char *text, size_t length,
		       size_t value, uint64_t offset)
{
	unsigned char there[MAX_NAME + 1];
	int ret = read_at(reducing, there, length, offset);

	if (!ret && memcmp(there, text, length) != 0)
		ret = jp_fail(reducing->err, EINVAL,
			      "%s: environment variables in compressed data cannot be blanked",
			      reducing->path);
	return ret ?: add_word(reducing, &reducing->reduced->variables, text, length - 1)
		   ?: blank_bytes(reducing, offset + length, value, 'x');
}

/* Overwrites the values of environment variables with blanks in the stack dump of @size bytes at
 * @stack, which is at offset @offset in the file. */
static int reduce_dump(struct reducing *reducing, const unsigned char *stack, size_t size,
		       uint64_t offset)
{
	int ret = 0;

	for (size_t i = 1; i + 3 < size && !ret; i++) {
		const unsigned char *zero = memchr(stack + i - 1, 0, size - i);
		size_t value, length;

		if (!zero)
			break;
		i = (size_t)(zero - stack) + 1;
		length = match_variable(stack + i, size - i, &value);
		if (!length)
			continue;
		ret = blank_value(reducing, stack + i, length + 1, value, offset + i);
		i += length + 1 + value;
	}
	return ret;
}

static int reduce_event(void *context, const struct jp_event *event)
{
	struct reducing *reducing = context;
	const unsigned char *stack;
	int ret = 0;

	switch (event->type) {
	case JP_EVENT_SAMPLE:
		stack = event->sample.stack;
		if (stack && event->record)
			ret = reduce_dump(
				reducing, stack, event->sample.stack_size,
				event->file_offset +
					(uint64_t)(stack - (const unsigned char *)event->record));
		break;
	case JP_EVENT_MAP:
		ret = add_word(reducing, &reducing->reduced->paths, event->map.name,
			       strlen(event->map.name));
		break;
	case JP_EVENT_COMM:
		ret = add_word(reducing, &reducing->reduced->processes, event->comm.name,
			       strlen(event->comm.name));
		break;
	default:
		break;
	}
	reducing->failed = ret;
	return ret;
}

/* The feature consists of a u32 count, then for each word its padded size and its bytes. */
static int list_command_line(struct reducing *reducing, const struct jp_perf_section *section)
{
	jp_cleanup_free unsigned char *bytes = NULL;
	uint64_t offset = 4;
	int ret;

	if (section->size > MAX_FEATURE)
		return jp_fail(reducing->err, EINVAL,
			       "%s: the command line of perf has %" PRIu64
			       " bytes, which is too long",
			       reducing->path, section->size);
	bytes = malloc(section->size + 1);
	if (!bytes)
		return fail_memory(reducing);
	ret = read_at(reducing, bytes, section->size, section->offset);
	while (!ret && offset + 4 <= section->size) {
		uint32_t size;

		memcpy(&size, bytes + offset, 4);
		offset += 4;
		if (size > section->size - offset)
			break;
		ret = add_word(reducing, &reducing->reduced->commands, bytes + offset,
			       strnlen((char *)bytes + offset, size));
		offset += size;
	}
	return ret;
}

/* Removes features from the header and its table, which has an entry per bit in order: those that
 * stay move up. The reader has checked that each lies within the file. */
static int reduce_features(struct reducing *reducing)
{
	struct jp_perf_section table[JP_PERF_FEATURES] = {0};
	struct jp_perf_file_header header;
	unsigned count = 0, nr_kept = 0;
	uint64_t table_at;
	int ret = read_at(reducing, &header, sizeof(header), 0);

	/* Headers of the oldest files have no features. */
	if (ret || header.size < sizeof(header))
		return ret;
	table_at = header.data.offset + header.data.size;
	for (unsigned i = 0; i < JP_PERF_FEATURES; i++)
		count += jp_perf_has_feature(&header, i);
	/* Without features the file would look as if its writer had been killed, and the bytes
	 * after the data would look like records. */
	if (count && !header.data.size)
		return jp_fail(reducing->err, EINVAL, "%s: contains no record", reducing->path);
	ret = read_at(reducing, table, count * sizeof(table[0]), table_at);
	for (unsigned i = 0, section_index = 0; i < JP_PERF_FEATURES && !ret; i++) {
		struct jp_perf_section section = table[section_index];

		if (!jp_perf_has_feature(&header, i))
			continue;
		section_index++;
		if (section.size && section.offset < table_at)
			return jp_fail(reducing->err, EINVAL,
				       "%s: feature %u is at %" PRIu64 ", %" PRIu64
				       " bytes; expected behind the data",
				       reducing->path, i, section.offset, section.size);
		if (is_kept(i)) {
			if (i == JP_PERF_FEATURE_CMDLINE)
				ret = list_command_line(reducing, &section);
			table[nr_kept++] = section;
			continue;
		}
		header.features[i / 64] &= ~(UINT64_C(1) << i % 64);
		ret = blank_bytes(reducing, section.offset, section.size, 0);
	}
	if (ret)
		return ret;
	memset(table + nr_kept, 0, (count - nr_kept) * sizeof(table[0]));
	ret = write_at(reducing, table, count * sizeof(table[0]), table_at);
	return ret ? ret : write_at(reducing, &header, sizeof(header), 0);
}

int jp_perfdata_reduce(const char *path, int fd, struct jp_reduced *reduced, struct jp_error *err)
{
	struct reducing reducing = {.path = path, .fd = fd, .reduced = reduced, .err = err};
	struct jp_perfdata_summary summary;
	struct jp_error detail = {""};
	int ret = jp_perfdata_read(path, reduce_event, &reducing, &summary, &detail);

	if (ret && !reducing.failed)
		ret = jp_fail(err, -ret, "%s", detail.text);
	if (!ret && (summary.pipe || summary.compressed))
		ret = jp_fail(err, EINVAL,
			      "%s: %s; data about the machine cannot be removed from it in place",
			      path, summary.pipe ? "a pipe stream" : "compressed data");
	return ret ?: reduce_features(&reducing);
}

void jp_reduced_free(struct jp_reduced *reduced)
{
	jp_word_set_free(&reduced->processes);
	jp_word_set_free(&reduced->paths);
	jp_word_set_free(&reduced->variables);
	jp_word_set_free(&reduced->commands);
}
