// SPDX-License-Identifier: GPL-2.0-only
/* Tests that line tables contain the same rows when they are read as DWARF 4. */
#include "harness/format/jit/debug_line.h"
#include "harness/selftest/support/check.h"

enum { MOST = 64, TRIES = 200 };

struct read_row {
	uint64_t addr;
	int64_t line;
	uint64_t file;
	bool end;
};

/* The unread bytes of a section. */
struct dwarf_bytes {
	const unsigned char *pos, *end;
	bool is_invalid;
};

static uint64_t take_number(struct dwarf_bytes *bytes, size_t size)
{
	uint64_t value = 0;

	if ((size_t)(bytes->end - bytes->pos) < size) {
		bytes->is_invalid = true;
		bytes->pos = bytes->end;
		return 0;
	}
	memcpy(&value, bytes->pos, size);
	bytes->pos += size;
	return value;
}

static uint64_t take_leb(struct dwarf_bytes *bytes, bool is_signed)
{
	uint64_t value = 0, byte;
	unsigned shift = 0;

	do {
		byte = take_number(bytes, 1);
		value |= (byte & 0x7f) << shift;
		shift += 7;
	} while (byte & 0x80 && shift < 63 && !bytes->is_invalid);
	if (is_signed && byte & 0x40)
		value |= -(UINT64_C(1) << shift);
	return value;
}

/* Runs the line number program at @bytes (DWARF 4, 6.2). Returns the number of rows. */
static size_t read_rows(struct dwarf_bytes *bytes, struct read_row *rows)
{
	struct read_row state = {.line = 1, .file = 1};
	size_t count = 0;

	while (bytes->pos < bytes->end && !bytes->is_invalid && count < MOST) {
		uint64_t op = take_number(bytes, 1), length;

		if (op >= 13) {
			state.addr += (op - 13) / 14;
			state.line += (int64_t)((op - 13) % 14) - 5;
			rows[count++] = state;
		} else if (op == 1) {
			rows[count++] = state;
		} else if (op == 2) {
			state.addr += take_leb(bytes, false);
		} else if (op == 3) {
			state.line += (int64_t)take_leb(bytes, true);
		} else if (op == 4) {
			state.file = take_leb(bytes, false);
		} else if (op == 0) {
			length = take_leb(bytes, false);
			op = take_number(bytes, 1);
			if (op == 2 && length == 9) {
				state.addr = take_number(bytes, 8);
			} else if (op == 1 && length == 1) {
				state.end = true;
				rows[count++] = state;
				state = (struct read_row){.line = 1, .file = 1};
			} else {
				bytes->is_invalid = true;
			}
		} else {
			bytes->is_invalid = true;
		}
	}
	return count;
}

/* Reads the header of .debug_line, which must be the usual one. Stores file names in @files. */
static size_t read_header(struct dwarf_bytes *bytes, const char **files)
{
	static const unsigned char usual[] = {1, 1, 1, 0xfb, 14, 13, 0, 1, 1, 1,
					      1, 0, 0, 0,    1,  0,  0, 1, 0};
	const unsigned char *start = bytes->pos;
	size_t count = 0;
	uint64_t length = take_number(bytes, 4), version = take_number(bytes, 2),
		 end = take_number(bytes, 4);
	const unsigned char *program = bytes->pos + end;

	if (length != (uint64_t)(bytes->end - start) - 4 || version != 4 || program > bytes->end ||
	    memcmp(bytes->pos, usual, sizeof(usual)) != 0) {
		bytes->is_invalid = true;
		return 0;
	}
	bytes->pos += sizeof(usual);
	while (*bytes->pos && count < MOST) {
		files[count++] = (const char *)bytes->pos;
		bytes->pos += strlen(files[count - 1]) + 1;
		bytes->is_invalid |= take_number(bytes, 3) != 0;
	}
	bytes->is_invalid |= take_number(bytes, 1) != 0 || bytes->pos != program;
	return count;
}

static void check_round_trip(uint64_t *state)
{
	static const char *const names[] = {"a.js", "b.js", "", "deep/c.js"};
	struct jp_debug_line lines = {.highest = 0};
	struct jp_bytes line = {0}, info = {0}, abbrev = {0};
	struct jp_line_row expected[MOST];
	struct read_row found[MOST];
	const char *files[MOST];
	size_t functions = 1 + check_random(state) % 4, count = 0, nr_compared = 0, nr_wrong = 0,
	       nr_files;
	uint64_t ends[4], last = 0, size[4], start[4];
	struct dwarf_bytes bytes;

	for (size_t i = 0; i < functions; i++) {
		uint64_t addr = check_random(state) % 5000;
		size_t rows = 1 + check_random(state) % 8;

		start[i] = addr;
		for (size_t j = 0; j < rows; j++) {
			addr += check_random(state) % (j % 2 ? 3 : 300);
			expected[count + j] = (struct jp_line_row){
				addr, 1 + check_random(state) % (j % 3 ? 9 : 2000),
				names[check_random(state) % 2 * 3]};
		}
		size[i] = addr - start[i] + check_random(state) % 200;
		ends[i] = start[i] + size[i];
		last = last < ends[i] ? ends[i] : last;
		jp_debug_line_add(&lines, start[i], size[i], expected + count, rows);
		jp_debug_line_add(&lines, 0, 99999, NULL, 0); /* a function without lines */
		count += rows;
		expected[count++].file = NULL; /* end of the list */
	}
	jp_debug_line_end(&lines, &line, &info, &abbrev);
	bytes = (struct dwarf_bytes){line.bytes, line.bytes + line.size, false};
	nr_files = read_header(&bytes, files);
	nr_wrong += bytes.is_invalid || read_rows(&bytes, found) != count || bytes.is_invalid;
	for (size_t i = 0; i < count && !nr_wrong; i++) {
		if (!expected[i].file)
			nr_wrong += !found[i].end || found[i].addr != ends[nr_compared++];
		else
			nr_wrong += found[i].end || found[i].addr != expected[i].addr ||
				    found[i].line != expected[i].line || found[i].file > nr_files ||
				    strcmp(files[found[i].file - 1], expected[i].file) != 0;
	}
	bytes = (struct dwarf_bytes){info.bytes, info.bytes + info.size, false};
	nr_wrong += take_number(&bytes, 4) != info.size - 4 || take_number(&bytes, 2) != 4 ||
		    take_number(&bytes, 4) != 0 || take_number(&bytes, 2) != 0x108 ||
		    memcmp(bytes.pos, "jitdump", 8) != 0;
	bytes.pos += 8;
	nr_wrong += take_number(&bytes, 4) != 0 || take_number(&bytes, 8) != 0 ||
		    take_number(&bytes, 8) != last || bytes.is_invalid || bytes.pos != bytes.end ||
		    abbrev.size != 14;
	if (nr_wrong)
		check(false, "%zu functions with %zu rows are read back", functions, count);
	jp_bytes_free(&line);
	jp_bytes_free(&info);
	jp_bytes_free(&abbrev);
	jp_debug_line_free(&lines);
	if (lines.program.bytes || lines.files.bytes)
		check(false, "the freed table is empty");
}

TEST(debug_line)
{
	struct jp_debug_line lines = {.highest = 0};
	struct jp_bytes line = {0}, info = {0}, abbrev = {0};
	uint64_t state = 3;

	for (int i = 0; i < TRIES; i++)
		check_round_trip(&state);
	check(state != 3, "%d random line tables are read back", TRIES);
	jp_debug_line_end(&lines, &line, &info, &abbrev);
	check(!line.size && !info.size && !abbrev.size, "without lines there are no sections");
	lines.program.failed = true;
	jp_debug_line_end(&lines, &line, &info, &abbrev);
	check(line.failed, "a lack of memory is reported");
	jp_debug_line_free(&lines);
}
