/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/base/bytes.h"
#include "harness/base/text_pool.h"

/* Builds DWARF 4 line tables: .debug_line with one sequence per function, and .debug_info and
 * .debug_abbrev with the one compilation unit that refers to it. */
struct jp_debug_line {
	struct jp_bytes files, program; /* parts of .debug_line */
	struct jp_text_pool names;      /* source file names */
	uint64_t highest;               /* highest address so far */
};

struct jp_line_row {
	uint64_t addr;
	uint32_t line;
	const char *file;
};

/* Adds the function at [@addr, @addr + @size). @rows are sorted by address and lie within the
 * function. */
void jp_debug_line_add(struct jp_debug_line *lines, uint64_t addr, uint64_t size,
		       const struct jp_line_row *rows, size_t count);
/* Stores the three sections, which are empty if no function was added. */
void jp_debug_line_end(struct jp_debug_line *lines, struct jp_bytes *line, struct jp_bytes *info,
		       struct jp_bytes *abbrev);
void jp_debug_line_free(struct jp_debug_line *lines);
