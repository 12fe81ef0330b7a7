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

static uint64_t take_number(struct dwarf_bytes *from, size_t size)
{
	uint64_t value = 0;

	if ((size_t)(from->end - from->pos) < size) {
		from->is_invalid = true;
		from->pos = from->end;
		return 0;
	}
	memcpy(&value, from->pos, size);
	from->pos += size;
	return value;
}

static uint64_t take_leb(struct dwarf_bytes *from, bool is_signed)
{
	uint64_t value = 0, byte;
	unsigned shift = 0;

	do {
		byte = take_number(from, 1);
		value |= (byte & 0x7f) << shift;
		shift += 7;
	} while (byte & 0x80 && shift < 63 && !from->is_invalid);
	if (is_signed && byte & 0x40)
		value |= -(UINT64_C(1) << shift);
	return value;
}

/* Runs the line number program at @from (DWARF 4, 6.2). Returns the number of rows. */
static size_t read_rows(struct dwarf_bytes *from, struct read_row *rows)
{
	struct read_row state = {.line = 1, .file = 1};
	size_t count = 0;

	while (from->pos < from->end && !from->is_invalid && count < MOST) {
		uint64_t op = take_number(from, 1), length;

		if (op >= 13) {
			state.addr += (op - 13) / 14;
			state.line += (int64_t)((op - 13) % 14) - 5;
			rows[count++] = state;
		} else if (op == 1) {
			rows[count++] = state;
		} else if (op == 2) {
			state.addr += take_leb(from, false);
		} else if (op == 3) {
			state.line += (int64_t)take_leb(from, true);
		} else if (op == 4) {
			state.file = take_leb(from, false);
		} else if (op == 0) {
			length = take_leb(from, false);
			op = take_number(from, 1);
			if (op == 2 && length == 9) {
				state.addr = take_number(from, 8);
			} else if (op == 1 && length == 1) {
				state.end = true;
				rows[count++] = state;
				state = (struct read_row){.line = 1, .file = 1};
			} else {
				from->is_invalid = true;
			}
		} else {
			from->is_invalid = true;
		}
	}
	return count;
}

/* Reads the header of .debug_line, which must be the usual one. Stores file names in @files. */
static size_t read_header(struct dwarf_bytes *from, const char **files)
{
	static const unsigned char usual[] = {1, 1, 1, 0xfb, 14, 13, 0, 1, 1, 1,
					      1, 0, 0, 0,    1,  0,  0, 1, 0};
	const unsigned char *start = from->pos;
	size_t count = 0;
	uint64_t length = take_number(from, 4), version = take_number(from, 2),
		 rest = take_number(from, 4);
	const unsigned char *program = from->pos + rest;

	if (length != (uint64_t)(from->end - start) - 4 || version != 4 || program > from->end ||
	    memcmp(from->pos, usual, sizeof(usual)) != 0) {
		from->is_invalid = true;
		return 0;
	}
	from->pos += sizeof(usual);
	while (*from->pos && count < MOST) {
		files[count++] = (const char *)from->pos;
		from->pos += strlen(files[count - 1]) + 1;
		from->is_invalid |= take_number(from, 3) != 0;
	}
	from->is_invalid |= take_number(from, 1) != 0 || from->pos != program;
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
	size_t functions = 1 + check_random(state) % 4, count = 0, nr_compared = 0, wrong = 0,
	       nr_files;
	uint64_t ends[4], last = 0, size[4], start[4];
	struct dwarf_bytes from;

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
	from = (struct dwarf_bytes){line.bytes, line.bytes + line.size, false};
	nr_files = read_header(&from, files);
	wrong += from.is_invalid || read_rows(&from, found) != count || from.is_invalid;
	for (size_t i = 0; i < count && !wrong; i++) {
		if (!expected[i].file)
			wrong += !found[i].end || found[i].addr != ends[nr_compared++];
		else
			wrong += found[i].end || found[i].addr != expected[i].addr ||
				 found[i].line != expected[i].line || found[i].file > nr_files ||
				 strcmp(files[found[i].file - 1], expected[i].file) != 0;
	}
	from = (struct dwarf_bytes){info.bytes, info.bytes + info.size, false};
	wrong += take_number(&from, 4) != info.size - 4 || take_number(&from, 2) != 4 ||
		 take_number(&from, 4) != 0 || take_number(&from, 2) != 0x108 ||
		 memcmp(from.pos, "jitdump", 8) != 0;
	from.pos += 8;
	wrong += take_number(&from, 4) != 0 || take_number(&from, 8) != 0 ||
		 take_number(&from, 8) != last || from.is_invalid || from.pos != from.end ||
		 abbrev.size != 14;
	if (wrong)
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
