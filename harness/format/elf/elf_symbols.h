/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/base/error.h"

/* Symbols of ELF files, those that perf gives names by. */

struct jp_elf_input {
	int fd;            /* -1: none */
	const void *image; /* then, of @size bytes; NULL: nothing at all */
	size_t size;
};

/* What a file has: whether it is an ELF file at all, whole, and which tables of symbols. */
struct jp_elf_tables {
	bool elf, symtab, dynsym;
	bool frame_index; /* .eh_frame_hdr */
	bool packed;      /* a .symtab in a compressed ELF file: .gnu_debugdata */
	bool cut_short;   /* the file ends before its section headers do */
};
struct jp_elf_tables jp_elf_tables(const struct jp_elf_input *file);

/* What its .gnu_debuglink calls the file with its symbols, into @name; false: it has none, or a
 * path in its place. */
bool jp_elf_debuglink(const struct jp_elf_input *file, char *name, size_t size);

/* A symbol, by where its bytes stand in the file; a perf.data's mapping finds its own by that. */
struct jp_elf_symbol {
	uint64_t offset, size;
	const char *name; /* lives as long as the table */
	uint16_t since;   /* the perf that first named it, JP_PERF_VERSION(); 0: all of them */
};
#define JP_PERF_VERSION(major, minor) ((major) << 8 | (minor))

struct jp_elf_symbols {
	struct jp_elf_symbol *symbols; /* by offset, no two at one */
	size_t count, capacity;
	char *names; /* private */
};
/*
 * Functions, objects and labels of .symtab and .dynsym of @file, and the entries of its procedure
 * linkage table. @runtime: the file that was mapped, which @file may hold the symbols of; its
 * segments say where in it a symbol's bytes stand. Sizes, indices and names that lead out of the
 * file make it -EINVAL.
 */
int jp_elf_symbols(const struct jp_elf_input *file, const struct jp_elf_input *runtime,
		   struct jp_elf_symbols *symbols, struct jp_error *err);
/* The one that reaches over @offset, or NULL. */
const struct jp_elf_symbol *jp_elf_symbols_find(const struct jp_elf_symbols *symbols,
						uint64_t offset);
void jp_elf_symbols_free(struct jp_elf_symbols *symbols);
