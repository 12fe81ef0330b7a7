/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/base/error.h"

/* The symbols of ELF files, from which perf takes the names of addresses. */

struct jp_elf_input {
	int fd;            /* descriptor of the file; -1: none */
	const void *image; /* the file's @size bytes if @fd is -1; NULL: no file */
	size_t size;
};

/* Properties of a file, and the symbol tables that it has. */
struct jp_elf_tables {
	bool elf, symtab, dynsym;
	bool eh_frame;
	bool frame_index; /* .eh_frame_hdr */
	bool debug_frame; /* .debug_frame: call frame information for debuggers */
	bool packed;      /* .gnu_debugdata: a compressed ELF file with a .symtab */
	bool cut_short;   /* the file ends before its section headers */
	bool text_moved;  /* from the file offset of a text segment to its address it is another
			     distance than for the first segment, as lld links */
	bool index_moved; /* ... than for .eh_frame_hdr */
	bool windows;     /* no ELF file, but an image for Windows */
	bool archive;     /* no ELF file, but a ZIP archive, such as an APK */
};
struct jp_elf_tables jp_elf_tables(const struct jp_elf_input *file);

/* Stores the file name in .gnu_debuglink, which names the file with the symbols, in @name of @size
 * bytes. Returns false if there is none, if it contains a path, or if it is too long. */
bool jp_elf_debuglink(const struct jp_elf_input *file, char *name, size_t size);

/* A symbol and its file offset. Mappings in a perf.data state file offsets, too. */
struct jp_elf_symbol {
	uint64_t offset, size;
	const char *name;       /* valid until jp_elf_symbols_free() */
	uint16_t first_version; /* first perf version that names it, as JP_PERF_VERSION(); 0: all
				   versions */
};
#define JP_PERF_VERSION(major, minor) ((major) << 8 | (minor))

struct jp_elf_symbols {
	struct jp_elf_symbol *symbols; /* sorted by offset, without duplicates */
	size_t count, capacity;
	char *names; /* private */
};
/* Reads functions, objects and labels in .symtab and .dynsym of @file, and the entries of its
 * procedure linkage table. @runtime: the mapped file, which may differ from @file, the file with
 * the symbols; its segments determine file offsets. Returns 0, or -errno and a message; -EINVAL: a
 * size, index or name points outside the file. */
int jp_elf_symbols(const struct jp_elf_input *file, const struct jp_elf_input *runtime,
		   struct jp_elf_symbols *symbols, struct jp_error *err);
/* Returns the symbol that contains @offset, or NULL. */
const struct jp_elf_symbol *jp_elf_symbols_find(const struct jp_elf_symbols *symbols,
						uint64_t offset);
void jp_elf_symbols_free(struct jp_elf_symbols *symbols);
