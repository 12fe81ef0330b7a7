// SPDX-License-Identifier: GPL-2.0-only
/* Entries of the procedure linkage table, and what an ELF file has of tables and links. */
#include <stddef.h>

#include "harness/selftest/support/check.h"
#include "harness/selftest/support/made_elf.h"

static struct elf_made made;

/* Behind a function of @size. @sec, @got: whether there are .plt.sec and .plt.got. */
static void begin_behind(uint64_t size, const char *relocations, uint64_t entsize, bool sec,
			 bool got)
{
	const struct made_symbol symbol = {"f", 0x10, size, STT_FUNC, STV_DEFAULT, ELF_MADE_TEXT};
	static const unsigned char bytes[64];

	elf_made_code(&made, EM_X86_64, &symbol, 1);
	elf_made_symbols(&made, ".dynsym", SHT_DYNSYM, &symbol, 1);
	elf_made_section(&made, relocations, SHT_RELA, bytes, 48)->sh_entsize = 24;
	elf_made_section(&made, ".plt", SHT_PROGBITS, bytes, 48)->sh_entsize = entsize;
	if (sec)
		elf_made_section(&made, ".plt.sec", SHT_PROGBITS, bytes, 32);
	if (got)
		elf_made_section(&made, ".plt.got", SHT_PROGBITS, bytes, 16)->sh_entsize = 8;
}

static void begin_plt(const char *relocations, uint64_t entsize, bool sec, bool got)
{
	begin_behind(8, relocations, entsize, sec, got);
}

/* How many are called @name, of the perf that first gave them. */
static void counts(unsigned int plt, unsigned int always, unsigned int since, const char *what)
{
	struct jp_elf_symbols symbols;
	unsigned int heads = 0, old = 0, new = 0;

	if (!check(!elf_made_read(&made, &symbols, NULL), "%s: it is read", what))
		return;
	for (size_t i = 0; i < symbols.count; i++) {
		const struct jp_elf_symbol *symbol = &symbols.symbols[i];
		bool entry = strcmp(symbol->name, "@plt") == 0;

		heads +=
			strcmp(symbol->name, ".plt") == 0 && symbol->since == JP_PERF_VERSION(6, 3);
		old += entry && !symbol->since;
		new += entry && symbol->since == JP_PERF_VERSION(6, 3);
	}
	check(heads == plt && old == always && new == since, "%s: %u, %u and %u", what, heads, old,
	      new);
	jp_elf_symbols_free(&symbols);
}

static void linkage(void)
{
	enum { DYNSYM = 5, RELOCATIONS = 6, PLT = 7 };

	begin_plt(".rela.plt", 16, true, true);
	counts(1, 2, 4, "a head, an entry a relocation, and those of newer kinds");
	begin_behind(0, ".rela.plt", 16, true, true);
	counts(0, 2, 4, "a head that a function without a size reached over before");
	begin_plt(".rel.plt", 4, false, false);
	counts(1, 2, 0, "entries whose size is not told are of 16 bytes");
	begin_plt(".rela.plt", 16, false, false);
	made.sections[RELOCATIONS].sh_size = 1 << 20;
	counts(1, 3, 0, "more relocations than entries");
	begin_plt(".rela.plt", 16, false, false);
	made.sections[PLT].sh_type = SHT_NOBITS;
	counts(1, 0, 0, "a table without bytes");
	begin_plt(".rela.plt", 16, false, false);
	made.sections[RELOCATIONS].sh_entsize = 0;
	counts(0, 0, 0, "relocations of no size");
	begin_plt(".rela.other", 16, false, false);
	counts(0, 0, 0, "no relocations");
	begin_plt(".rela.plt", 16, false, false);
	made.names[PLT] = ".plt.none";
	counts(0, 0, 0, "no table");
	begin_plt(".rela.plt", 16, false, true);
	made.sections[PLT + 1].sh_entsize = 0;
	counts(1, 2, 0, "a newer kind whose size is not told");
	begin_plt(".rela.plt", 16, true, true);
	made.names[DYNSYM] = ".dynsymbols";
	counts(0, 0, 0, "nothing that is linked");
}

static void tables(void)
{
	static const struct made_symbol symbol = {"f",      0x10,        8,
						  STT_FUNC, STV_DEFAULT, ELF_MADE_TEXT};
	jp_cleanup_free unsigned char *bytes = NULL;
	struct jp_elf_tables found;
	struct jp_elf_input file;

	elf_made_code(&made, EM_X86_64, &symbol, 1);
	elf_made_symbols(&made, ".dynsym", SHT_SYMTAB, &symbol, 1);
	elf_made_section(&made, ".gnu_debugdata", SHT_PROGBITS, "1234567", 8);
	elf_made_end(&made);
	file = elf_made_input(&made, &bytes);
	found = jp_elf_tables(&file);
	check(found.elf && found.symtab && !found.dynsym && !found.frame_index && found.packed &&
		      !found.cut_short,
	      "a .symtab, one packed; what is only called .dynsym is none");
	file.size = made.head.e_shoff + 8;
	found = jp_elf_tables(&file);
	check(found.elf && found.cut_short && !found.symtab, "the end is missing");
	file.size = made.head.e_shoff - 8;
	found = jp_elf_tables(&file);
	check(found.elf && found.cut_short, "more is missing");
	memset(bytes + offsetof(Elf64_Ehdr, e_shoff), 0, 8);
	found = jp_elf_tables(&file);
	check(found.elf && !found.cut_short && !found.symtab, "no section was ever there");
	found = jp_elf_tables(&(struct jp_elf_input){-1, "no ELF", 6});
	check(!found.elf, "a text");
}

static void debuglink(void)
{
	static const struct {
		const char *what, *bytes;
		size_t size;
		const char *name; /* NULL: none */
	} table[] = {
		{"a name and a checksum", "a.debug\0CRC", 12, "a.debug"},
		{"a name that fits just so", "fifteen.letters", 16, "fifteen.letters"},
		{"one that is too long", "sixteen..letters", 17, NULL},
		{"no end of it", "abc", 3, NULL},
		{"an empty one", "\0\0\0", 4, NULL},
		{"a path", "../a.debug", 11, NULL},
		{"nothing", "", 0, NULL},
	};
	jp_cleanup_free unsigned char *bytes = NULL;
	struct jp_elf_input file;
	char name[16];

	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		bool found;

		elf_made_code(&made, EM_X86_64, NULL, 0);
		elf_made_section(&made, ".gnu_debuglink", SHT_PROGBITS, table[i].bytes,
				 table[i].size);
		elf_made_end(&made);
		free(bytes);
		file = elf_made_input(&made, &bytes);
		found = jp_elf_debuglink(&file, name, sizeof(name));
		check(found == !!table[i].name && (!found || !strcmp(name, table[i].name)), "%s",
		      table[i].what);
	}
	elf_made_code(&made, EM_X86_64, NULL, 0);
	elf_made_section(&made, ".gnu_debuglink", SHT_NOBITS, NULL, 12);
	elf_made_end(&made);
	free(bytes);
	file = elf_made_input(&made, &bytes);
	check(!jp_elf_debuglink(&file, name, sizeof(name)), "one without bytes");
	file.size = 3;
	check(!jp_elf_debuglink(&file, name, sizeof(name)), "of no ELF file");
}

int main(void)
{
	linkage();
	tables();
	debuglink();
	return check_done();
}
