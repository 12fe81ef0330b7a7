/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/format/elf/elf_symbols.h"
#include "harness/model/files/file_finder.h"

/* The symbols of one file that was mapped, from wherever perf would take them. */
struct jp_symbol_file {
	int missing; /* 0, or why there is no such file, as jp_file_find() */
	bool symtab; /* it was not stripped */
	bool not_elf;
	bool broken; /* it is cut short, or its symbols cannot be read */
	struct jp_elf_symbols symbols;
};
/* @file is all zero. @recorded->id: where the capture knows it, else all zero. */
void jp_symbol_file_load(struct jp_symbol_file *file, struct jp_file_finder *finder,
			 const struct jp_wanted_file *recorded);
