// SPDX-License-Identifier: GPL-2.0-only
/* Symbols of the procedure linkage table, and the tables and debug link of an ELF file. */
#include <stddef.h>

#include "harness/selftest/support/check.h"
#include "harness/selftest/support/made_elf.h"

static struct elf_made made;

/* Begins a file with a function of @size and a PLT. @sec, @is_function: with .plt.sec and .plt.got.
 */
static void begin_with_function(uint64_t size, const char *relocations, uint64_t entsize, bool sec,
				bool is_function)
{
	const struct made_symbol symbol = {"f", 0x10, size, STT_FUNC, STV_DEFAULT, ELF_MADE_TEXT};
	static const unsigned char bytes[64];

	elf_made_add_code(&made, EM_X86_64, &symbol, 1);
	elf_made_add_symbols(&made, ".dynsym", SHT_DYNSYM, &symbol, 1);
	elf_made_add_section(&made, relocations, SHT_RELA, bytes, 48)->sh_entsize = 24;
	elf_made_add_section(&made, ".plt", SHT_PROGBITS, bytes, 48)->sh_entsize = entsize;
	if (sec)
		elf_made_add_section(&made, ".plt.sec", SHT_PROGBITS, bytes, 32);
	if (is_function)
		elf_made_add_section(&made, ".plt.got", SHT_PROGBITS, bytes, 16)->sh_entsize = 8;
}

static void begin_plt(const char *relocations, uint64_t entsize, bool sec, bool is_function)
{
	begin_with_function(8, relocations, entsize, sec, is_function);
}

/* Checks the numbers of PLT symbols, by the version of perf that first had them. */
static void check_counts(unsigned int plt, unsigned int always, unsigned int since,
			 const char *label)
{
	struct jp_elf_symbols symbols;
	unsigned int heads = 0, nr_old = 0, nr_new = 0;

	if (!check(!elf_made_read(&made, &symbols, NULL), "%s: the file is read", label))
		return;
	for (size_t i = 0; i < symbols.count; i++) {
		const struct jp_elf_symbol *symbol = &symbols.symbols[i];
		bool entry = strcmp(symbol->name, "@plt") == 0;

		heads += strcmp(symbol->name, ".plt") == 0 &&
			 symbol->first_version == JP_PERF_VERSION(6, 3);
		nr_old += entry && !symbol->first_version;
		nr_new += entry && symbol->first_version == JP_PERF_VERSION(6, 3);
	}
	check(heads == plt && nr_old == always && nr_new == since, "%s: %u, %u and %u", label,
	      heads, nr_old, nr_new);
	jp_elf_symbols_free(&symbols);
}

TEST(plt_symbols)
{
	enum { DYNSYM = 5, RELOCATIONS = 6, PLT = 7 };

	begin_plt(".rela.plt", 16, true, true);
	check_counts(1, 2, 4, "a head, an entry per relocation, newer kinds");
	begin_with_function(0, ".rela.plt", 16, true, true);
	check_counts(0, 2, 4, "a head inside a function without a size");
	begin_plt(".rel.plt", 4, false, false);
	check_counts(1, 2, 0, "entries of unknown size have 16 bytes");
	begin_plt(".rela.plt", 16, false, false);
	made.sections[RELOCATIONS].sh_size = 1 << 20;
	check_counts(1, 3, 0, "more relocations than entries");
	begin_plt(".rela.plt", 16, false, false);
	made.sections[PLT].sh_type = SHT_NOBITS;
	check_counts(1, 0, 0, "a table without bytes");
	begin_plt(".rela.plt", 16, false, false);
	made.sections[RELOCATIONS].sh_entsize = 0;
	check_counts(0, 0, 0, "relocations of no size");
	begin_plt(".rela.other", 16, false, false);
	check_counts(0, 0, 0, "no relocations");
	begin_plt(".rela.plt", 16, false, false);
	made.names[PLT] = ".plt.none";
	check_counts(0, 0, 0, "no table");
	begin_plt(".rela.plt", 16, false, true);
	made.sections[PLT + 1].sh_entsize = 0;
	check_counts(1, 2, 0, "a newer kind of unknown entry size");
	begin_plt(".rela.plt", 16, true, true);
	made.names[DYNSYM] = ".dynsymbols";
	check_counts(0, 0, 0, "no dynamic symbols");
}

TEST(symbol_tables)
{
	static const struct made_symbol symbol = {"f",      0x10,        8,
						  STT_FUNC, STV_DEFAULT, ELF_MADE_TEXT};
	jp_cleanup_free unsigned char *bytes = NULL;
	struct jp_elf_tables tables;
	struct jp_elf_input file;

	elf_made_add_code(&made, EM_X86_64, &symbol, 1);
	elf_made_add_symbols(&made, ".dynsym", SHT_SYMTAB, &symbol, 1);
	elf_made_add_section(&made, ".gnu_debugdata", SHT_PROGBITS, "1234567", 8);
	elf_made_end(&made);
	file = elf_made_input(&made, &bytes);
	tables = jp_elf_tables(&file);
	check(tables.elf && tables.symtab && !tables.dynsym && !tables.frame_index &&
		      tables.packed && !tables.cut_short,
	      "a .symtab and a packed one are found, a misnamed .dynsym is not");
	file.size = made.head.e_shoff + 8;
	tables = jp_elf_tables(&file);
	check(tables.elf && tables.cut_short && !tables.symtab, "a partly cut table is noticed");
	file.size = made.head.e_shoff - 8;
	tables = jp_elf_tables(&file);
	check(tables.elf && tables.cut_short, "section headers cut off as a whole are noticed");
	memset(bytes + offsetof(Elf64_Ehdr, e_shoff), 0, 8);
	tables = jp_elf_tables(&file);
	check(tables.elf && !tables.cut_short && !tables.symtab, "a file without them is not cut");
	tables = jp_elf_tables(&(struct jp_elf_input){-1, "no ELF", 6});
	check(!tables.elf, "a text is no ELF file");
}

TEST(debuglink)
{
	static const struct {
		const char *label, *bytes;
		size_t size;
		const char *name; /* NULL: none */
	} table[] = {
		{"a debug link with name and checksum is read", "a.debug\0CRC", 12, "a.debug"},
		{"a name that just fits is read", "fifteen.letters", 16, "fifteen.letters"},
		{"a too long name is refused", "sixteen..letters", 17, NULL},
		{"a name without an end is refused", "abc", 3, NULL},
		{"an empty name is refused", "\0\0\0", 4, NULL},
		{"a path is refused", "../a.debug", 11, NULL},
		{"an empty section is refused", "", 0, NULL},
	};
	jp_cleanup_free unsigned char *bytes = NULL;
	struct jp_elf_input file;
	char name[16];

	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		bool has_link;

		elf_made_add_code(&made, EM_X86_64, NULL, 0);
		elf_made_add_section(&made, ".gnu_debuglink", SHT_PROGBITS, table[i].bytes,
				     table[i].size);
		elf_made_end(&made);
		free(bytes);
		file = elf_made_input(&made, &bytes);
		has_link = jp_elf_debuglink(&file, name, sizeof(name));
		check(has_link == !!table[i].name && (!has_link || !strcmp(name, table[i].name)),
		      "%s", table[i].label);
	}
	elf_made_add_code(&made, EM_X86_64, NULL, 0);
	elf_made_add_section(&made, ".gnu_debuglink", SHT_NOBITS, NULL, 12);
	elf_made_end(&made);
	free(bytes);
	file = elf_made_input(&made, &bytes);
	check(!jp_elf_debuglink(&file, name, sizeof(name)), "an empty section has no debug link");
	file.size = 3;
	check(!jp_elf_debuglink(&file, name, sizeof(name)), "a cut file has no debug link");
}
