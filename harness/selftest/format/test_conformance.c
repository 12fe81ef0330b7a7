// SPDX-License-Identifier: GPL-2.0-only
/*
 * Runs our readers on validators/fixtures/conformance. With FORMAT FILE [ADDRESS...] it prints the
 * content of a file as JSON (names and code as hex digits) for test_conformance.py. Without
 * arguments it cuts every file at every byte: complete records must be read, cuts be noticed.
 */
#include <glob.h>

#include "harness/format/jit/jitdump_read.h"
#include "harness/base/json.h"
#include "harness/format/procmaps/procmaps.h"
#include "harness/selftest/support/perf_map_of.h"
#include "harness/selftest/support/scratch.h"

#define SET "validators/fixtures/conformance/"

static void put_hex(struct jp_json *json, const char *key, const void *bytes, size_t size)
{
	char *digits = calloc(2, size + 1);

	for (size_t i = 0; digits && i < size; i++)
		sprintf(digits + 2 * i, "%02x", ((const unsigned char *)bytes)[i]);
	jp_json_string(json, key, digits);
	free(digits);
}

static void put_name(struct jp_json *json, const char *key, const char *name)
{
	if (name)
		put_hex(json, key, name, strlen(name));
	else
		jp_json_string(json, key, NULL);
}

static void print_procmaps(struct jp_json *json, const char *path)
{
	struct jp_error err = {""};
	struct jp_procmap *maps = NULL;
	size_t size, count = 0;
	char *text = jp_file_read(path, SIZE_MAX - 1, &size, NULL);
	int ret = text ? jp_procmaps_parse(text, size, &maps, &count, &err) : -1;

	free(text);
	jp_json_array(json, "mappings");
	for (size_t i = 0; i < count; i++) {
		jp_json_object(json, NULL);
		jp_json_u64(json, "start", maps[i].start);
		jp_json_u64(json, "end", maps[i].end);
		jp_json_u64(json, "prot", maps[i].prot);
		jp_json_bool(json, "shared", maps[i].shared == 's');
		jp_json_u64(json, "offset", maps[i].offset);
		jp_json_u64(json, "major", maps[i].maj);
		jp_json_u64(json, "minor", maps[i].min);
		jp_json_u64(json, "inode", maps[i].ino);
		put_name(json, "name", maps[i].name);
		jp_json_end(json);
	}
	jp_json_end(json);
	jp_json_string(json, "error", ret ? err.text : NULL);
	free(maps);
}

static void print_perf_map(struct jp_json *json, const char *path, char **addresses)
{
	struct jp_error err = {""};
	struct jp_perf_map *map = read_perf_map(path, -1, &err);

	jp_json_string(json, "error", map ? NULL : err.text);
	if (!map)
		return;
	jp_json_u64(json, "bad_lines", jp_perf_map_bad_lines(map));
	jp_json_array(json, "names");
	for (; *addresses; addresses++)
		put_name(json, NULL, jp_perf_map_find(map, strtoull(*addresses, NULL, 0)));
	jp_json_end(json);
	jp_perf_map_free(map);
}

static void put_lines(struct jp_json *json, const struct jp_jitdump_record *record)
{
	struct jp_jitdump_line line;
	size_t cursor = 0;

	jp_json_u64(json, "address", record->debug.addr);
	jp_json_u64(json, "count", record->debug.count);
	jp_json_array(json, "entries");
	while (jp_jitdump_next_line(record, &cursor, &line)) {
		jp_json_object(json, NULL);
		jp_json_u64(json, "address", line.addr);
		jp_json_double(json, "line", line.line);
		jp_json_double(json, "discriminator", line.discrim);
		put_name(json, "file", line.file);
		jp_json_end(json);
	}
	jp_json_end(json);
}

static void put_record(struct jp_json *json, const struct jp_jitdump_record *record)
{
	jp_json_u64(json, "type", record->type);
	jp_json_u64(json, "offset", record->offset);
	jp_json_u64(json, "time", record->time);
	jp_json_u64(json, "pid", record->pid);
	jp_json_u64(json, "tid", record->tid);
	switch (record->type) {
	case JP_JITDUMP_LOAD:
		jp_json_u64(json, "vma", record->load.vma);
		jp_json_u64(json, "address", record->load.addr);
		jp_json_u64(json, "size", record->load.size);
		jp_json_u64(json, "index", record->load.index);
		put_name(json, "name", record->load.name);
		put_hex(json, "code", record->load.code, record->load.size);
		break;
	case JP_JITDUMP_MOVE:
		jp_json_u64(json, "vma", record->move.vma);
		jp_json_u64(json, "old", record->move.old_addr);
		jp_json_u64(json, "new", record->move.new_addr);
		jp_json_u64(json, "size", record->move.size);
		jp_json_u64(json, "index", record->move.index);
		break;
	case JP_JITDUMP_DEBUG_INFO:
		put_lines(json, record);
		break;
	case JP_JITDUMP_UNWINDING_INFO:
		jp_json_u64(json, "size", record->unwinding.size);
		jp_json_u64(json, "header_size", record->unwinding.hdr_size);
		jp_json_u64(json, "mapped_size", record->unwinding.mapped_size);
		put_hex(json, "eh_frame", record->unwinding.eh_frame,
			record->unwinding.size - record->unwinding.hdr_size);
		put_hex(json, "eh_frame_hdr", record->unwinding.eh_frame_hdr,
			record->unwinding.hdr_size);
		break;
	case JP_JITDUMP_CLOSE:
	case JP_JITDUMP_TYPES:
		break;
	}
}

static void print_jitdump(struct jp_json *json, const char *path)
{
	struct jp_error err = {""};
	struct jp_jitdump *dump = jp_jitdump_open(path, -1, &err);
	struct jp_jitdump_record record;
	int ret = -1;

	if (dump) {
		const struct jp_jitdump_header *header = jp_jitdump_header(dump);

		jp_json_object(json, "header");
		jp_json_u64(json, "version", header->version);
		jp_json_u64(json, "size", header->total_size);
		jp_json_u64(json, "machine", header->elf_mach);
		jp_json_u64(json, "pid", header->pid);
		jp_json_u64(json, "timestamp", header->timestamp);
		jp_json_bool(json, "arch_timestamp", header->flags & JP_JITDUMP_ARCH_TIMESTAMP);
		jp_json_end(json);
	}
	jp_json_array(json, "records");
	while (dump && (ret = jp_jitdump_next(dump, &record, &err)) > 0) {
		jp_json_object(json, NULL);
		put_record(json, &record);
		jp_json_end(json);
	}
	jp_json_end(json);
	jp_json_u64(json, "unknown", dump ? jp_jitdump_count_unknown(dump) : 0);
	jp_json_string(json, "error", ret ? err.text : NULL);
	jp_jitdump_close(dump);
}

static int print_one(const char *format, const char *path, char **addresses)
{
	struct jp_json json;

	jp_json_begin(&json, stdout);
	jp_json_object(&json, NULL);
	if (!strcmp(format, "procmaps"))
		print_procmaps(&json, path);
	else if (!strcmp(format, "perf_map"))
		print_perf_map(&json, path, addresses);
	else
		print_jitdump(&json, path);
	jp_json_end(&json);
	return fflush(stdout) != 0;
}

/* Cuts maps at every byte. A cut is accepted only at the end of a line, until the first bad line;
 * earlier lines stay. */
static bool cut_procmaps(const char *text, size_t size, char *reason)
{
	struct jp_procmap *before = NULL;
	size_t lines = 0, count_before = 0;
	bool is_right = true, bad_line = false;

	for (size_t cut_size = 0; cut_size <= size && is_right; cut_size++) {
		bool is_line_end = !cut_size || text[cut_size - 1] == '\n';
		struct jp_procmap *maps;
		size_t count;
		/* Exactly as large as the text, so that ASan detects overruns. */
		char *truncated = malloc(cut_size);
		int ret;

		if (cut_size)
			memcpy(truncated, text, cut_size);
		ret = jp_procmaps_parse(truncated, cut_size, &maps, &count, NULL);
		free(truncated);
		lines += cut_size && is_line_end;
		bad_line |= is_line_end && ret;
		is_right =
			ret ? !is_line_end || bad_line : is_line_end && !bad_line && count == lines;
		if (!ret) {
			for (size_t i = 0; i < count_before && is_right; i++)
				is_right = before[i].start == maps[i].start &&
					   before[i].end == maps[i].end &&
					   before[i].ino == maps[i].ino &&
					   !strcmp(before[i].name, maps[i].name);
			free(before);
			before = maps;
			count_before = count;
		}
		if (!is_right)
			sprintf(reason, "at %zu", cut_size);
	}
	free(before);
	return is_right;
}

/* Cuts a perf map at every byte. Every cut must be readable. Of cuts at the end of a line, a
 * shorter one must not have more bad lines. */
static bool cut_perf_map(const char *path, const char *text, size_t size, char *reason)
{
	uint64_t max = UINT64_MAX;

	for (size_t cut_size = size + 1; cut_size-- > 0;) {
		struct jp_perf_map *map = NULL;
		uint64_t nr_bad;

		if (!truncate(path, cut_size))
			map = read_perf_map(path, -1, NULL);
		nr_bad = map ? jp_perf_map_bad_lines(map) : UINT64_MAX;
		jp_perf_map_free(map);
		if (!map || ((!cut_size || text[cut_size - 1] == '\n') && nr_bad > max)) {
			sprintf(reason, "at %zu", cut_size);
			return false;
		}
		if (!cut_size || text[cut_size - 1] == '\n')
			max = nr_bad;
	}
	return max == 0;
}

struct dump_end {
	size_t records, skipped;
	bool opened, clean;
	uint64_t sum; /* digest of type, offset and time of all records, in order */
};

static struct dump_end read_dump(const char *path, size_t max)
{
	struct jp_jitdump *dump = jp_jitdump_open(path, -1, NULL);
	struct dump_end end = {.opened = dump};
	struct jp_jitdump_record record;
	int ret = -1;

	while (dump && end.records < max && (ret = jp_jitdump_next(dump, &record, NULL)) > 0) {
		end.records++;
		end.sum = (end.sum * 31 + record.type) * 31 + record.offset + record.time;
	}
	end.clean = dump && ret == 0;
	end.skipped = dump ? jp_jitdump_count_unknown(dump) : 0;
	jp_jitdump_close(dump);
	return end;
}

/* Cuts a jitdump at every byte. A cut is a clean end only after the header or a record. */
static bool cut_jitdump(const char *path, const char *full_path, size_t size, char *reason)
{
	struct dump_end complete = read_dump(full_path, SIZE_MAX);
	size_t clean = 0, expected = complete.opened ? 1 + complete.records + complete.skipped : 0;

	for (size_t cut_size = size + 1; cut_size-- > 0;) {
		struct dump_end truncated;

		if (truncate(path, cut_size))
			return false;
		truncated = read_dump(path, SIZE_MAX);
		clean += truncated.clean;
		if (truncated.records > complete.records ||
		    truncated.sum != read_dump(full_path, truncated.records).sum) {
			sprintf(reason, "at %zu", cut_size);
			return false;
		}
	}
	sprintf(reason, "%zu of %zu cuts are clean ends, expected %zu", clean, size + 1, expected);
	return clean == expected;
}

static bool cut_one(const char *path, const char *copy, char *reason)
{
	size_t size;
	char *text = jp_file_read(path, SIZE_MAX - 1, &size, NULL);
	bool is_right = false;

	if (text && scratch_write(copy, text, size)) {
		if (strstr(path, "/procmaps/"))
			is_right = cut_procmaps(text, size, reason);
		else if (strstr(path, "/perf_map/"))
			is_right = cut_perf_map(copy, text, size, reason);
		else
			is_right = cut_jitdump(copy, path, size, reason);
	}
	free(text);
	return is_right;
}

TEST(conformance)
{
	static const char *const patterns[] = {SET "procmaps/*.maps", SET "perf_map/*.map",
					       SET "jitdump/*.dump"};
	const char *copy;

	if (check_arguments[0] && check_arguments[1])
		exit(print_one(check_arguments[0], check_arguments[1], check_arguments + 2));
	copy = scratch_make("copy");
	for (size_t i = 0; i < 3; i++) {
		glob_t paths;

		if (glob(patterns[i], 0, NULL, &paths)) {
			check(false, "%s: no file was found", patterns[i]);
			continue;
		}
		check(paths.gl_pathc >= 10, "there are %zu files %s", paths.gl_pathc, patterns[i]);
		for (size_t j = 0; j < paths.gl_pathc; j++) {
			char reason[128] = "";
			bool is_right = cut_one(paths.gl_pathv[j], copy, reason);

			check(is_right, "%s survives cuts: %s", paths.gl_pathv[j] + strlen(SET),
			      reason);
		}
		globfree(&paths);
	}
}
