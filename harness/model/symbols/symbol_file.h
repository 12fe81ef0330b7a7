/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/format/elf/elf_symbols.h"
#include "harness/model/files/file_finder.h"

/* The symbols of one mapped file, from the places where perf searches. */
struct jp_symbol_file {
	int error;   /* 0, or the error of jp_file_find() */
	bool symtab; /* the file has a .symtab: it is not stripped */
	bool not_elf;
	bool broken; /* truncated, or its symbols are unreadable */
	struct jp_elf_symbols symbols;
};
/* Loads the symbols of the recorded file @recorded_file into @file, which must be all zero.
 * @recorded_file->id is all zero if unknown. */
void jp_symbol_file_load(struct jp_symbol_file *file, struct jp_file_finder *finder,
			 const struct jp_wanted_file *recorded_file);
