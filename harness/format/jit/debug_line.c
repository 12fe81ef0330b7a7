// SPDX-License-Identifier: GPL-2.0-only
#include "harness/format/jit/debug_line.h"

#include <string.h>

#include "harness/base/order.h"

/* DWARF 4, sections 6.2 and 7. */
enum {
	VERSION = 4,
	LINE_BASE = -5,
	LINE_RANGE = 14,
	OPCODE_BASE = 13,
	LNS_COPY = 1,
	LNS_ADVANCE_PC = 2,
	LNS_ADVANCE_LINE = 3,
	LNS_SET_FILE = 4,
	LNE_END_SEQUENCE = 1,
	LNE_SET_ADDRESS = 2,
	TAG_COMPILE_UNIT = 0x11,
	AT_NAME = 0x03,
	AT_STMT_LIST = 0x10,
	AT_LOW_PC = 0x11,
	AT_HIGH_PC = 0x12,
	FORM_ADDR = 0x01,
	FORM_DATA8 = 0x07,
	FORM_STRING = 0x08,
	FORM_SEC_OFFSET = 0x17,
};

/* Returns the number, from 1, of @name in the file table, and adds it if needed. */
static uint32_t find_file(struct jp_debug_line *lines, const char *name)
{
	size_t nr_before = lines->names.count;
	const struct jp_text *file = jp_text_keep(&lines->names, name, strlen(name));

	if (!file) {
		lines->files.failed = true;
		return 1;
	}
	if (lines->names.count > nr_before) {
		jp_bytes_add(&lines->files, name, file->size + 1);
		jp_bytes_add(&lines->files, "\0\0", 3); /* no directory, time or size of the file */
	}
	return file->number + 1;
}

static void set_address(struct jp_bytes *program, uint64_t addr)
{
	jp_bytes_add8(program, 0);
	jp_bytes_add_uleb(program, 1 + sizeof(addr));
	jp_bytes_add8(program, LNE_SET_ADDRESS);
	jp_bytes_add64(program, addr);
}

static void add_row(struct jp_bytes *program, uint64_t pc_step, int64_t line_step)
{
	if (line_step >= LINE_BASE && line_step < LINE_BASE + LINE_RANGE &&
	    pc_step <= (uint64_t)(255 - OPCODE_BASE - (line_step - LINE_BASE)) / LINE_RANGE) {
		jp_bytes_add8(program,
			      (line_step - LINE_BASE) + LINE_RANGE * pc_step + OPCODE_BASE);
		return;
	}
	if (pc_step) {
		jp_bytes_add8(program, LNS_ADVANCE_PC);
		jp_bytes_add_uleb(program, pc_step);
	}
	if (line_step) {
		jp_bytes_add8(program, LNS_ADVANCE_LINE);
		jp_bytes_add_sleb(program, line_step);
	}
	jp_bytes_add8(program, LNS_COPY);
}

void jp_debug_line_add(struct jp_debug_line *lines, uint64_t addr, uint64_t size,
		       const struct jp_line_row *rows, size_t count)
{
	struct jp_bytes *program = &lines->program;
	const char *file = NULL;
	uint32_t line = 1, number = 1;
	uint64_t row_addr = addr;

	if (!count)
		return;
	set_address(program, addr);
	for (size_t i = 0; i < count; i++) {
		uint32_t next = number;

		if (rows[i].file != file)
			next = find_file(lines, rows[i].file);
		file = rows[i].file;
		if (next != number) {
			jp_bytes_add8(program, LNS_SET_FILE);
			jp_bytes_add_uleb(program, next);
			number = next;
		}
		add_row(program, rows[i].addr - row_addr, (int64_t)rows[i].line - line);
		row_addr = rows[i].addr;
		line = rows[i].line;
	}
	jp_bytes_add8(program, LNS_ADVANCE_PC);
	jp_bytes_add_uleb(program, addr + size - row_addr);
	jp_bytes_add(program, (const unsigned char[]){0, 1, LNE_END_SEQUENCE}, 3);
	lines->highest = jp_max(lines->highest, addr + size);
}

void jp_debug_line_end(struct jp_debug_line *lines, struct jp_bytes *line, struct jp_bytes *info,
		       struct jp_bytes *abbrev)
{
	static const uint8_t lengths[OPCODE_BASE - 1] = {0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1};
	/* Abbreviation 1, without children. */
	static const uint8_t attributes[] = {1,
					     TAG_COMPILE_UNIT,
					     0,
					     AT_NAME,
					     FORM_STRING,
					     AT_STMT_LIST,
					     FORM_SEC_OFFSET,
					     AT_LOW_PC,
					     FORM_ADDR,
					     AT_HIGH_PC,
					     FORM_DATA8,
					     0,
					     0,
					     0};
	size_t header;

	if (lines->files.failed || lines->program.failed) {
		line->failed = true;
		return;
	}
	if (!lines->program.size)
		return;
	jp_bytes_add32(line, 0);
	jp_bytes_add16(line, VERSION);
	header = line->size;
	jp_bytes_add32(line, 0);
	jp_bytes_add8(line, 1); /* minimum instruction length */
	jp_bytes_add8(line, 1); /* operations per instruction */
	jp_bytes_add8(line, 1); /* default is_stmt */
	jp_bytes_add8(line, (uint8_t)LINE_BASE);
	jp_bytes_add8(line, LINE_RANGE);
	jp_bytes_add8(line, OPCODE_BASE);
	jp_bytes_add(line, lengths, sizeof(lengths));
	jp_bytes_add8(line, 0); /* no directories */
	jp_bytes_add(line, lines->files.bytes, lines->files.size);
	jp_bytes_add8(line, 0);
	jp_bytes_set32(line, header, line->size - header - 4);
	jp_bytes_add(line, lines->program.bytes, lines->program.size);
	jp_bytes_set32(line, 0, line->size - 4);

	jp_bytes_add(abbrev, attributes, sizeof(attributes));
	jp_bytes_add32(info, 0);
	jp_bytes_add16(info, VERSION);
	jp_bytes_add32(info, 0); /* offset in .debug_abbrev */
	jp_bytes_add8(info, 8);  /* address size */
	jp_bytes_add_uleb(info, 1);
	jp_bytes_add(info, "jitdump", sizeof("jitdump"));
	jp_bytes_add32(info, 0); /* offset in .debug_line */
	jp_bytes_add64(info, 0);
	jp_bytes_add64(info, lines->highest);
	jp_bytes_set32(info, 0, info->size - 4);
}

void jp_debug_line_free(struct jp_debug_line *lines)
{
	jp_bytes_free(&lines->files);
	jp_bytes_free(&lines->program);
	jp_text_pool_free(&lines->names);
	*lines = (struct jp_debug_line){0};
}
