// SPDX-License-Identifier: GPL-2.0-only
/* Tests symbols of an ELF file: which ones count, their file offsets and sizes, and errors of bad
 * tables. */
#include "harness/selftest/support/check.h"
#include "harness/selftest/support/made_elf.h"

static struct elf_made made;

/* Checks all symbols, as "NAME+OFFSET:SIZE ...", with offsets from .text. */
static void check_symbols(const char *expected, const char *label)
{
	struct jp_elf_symbols symbols;
	struct jp_error err = {""};
	char text[1024] = "";
	size_t length = 0;

	if (elf_made_read(&made, &symbols, &err)) {
		check(false, "%s: %s", label, err.text);
		return;
	}
	for (size_t i = 0; i < symbols.count && length < sizeof(text); i++)
		length += snprintf(
			text + length, sizeof(text) - length, "%s%s+%lx:%lx", i ? " " : "",
			symbols.symbols[i].name,
			(long)(symbols.symbols[i].offset - made.sections[ELF_MADE_TEXT].sh_offset),
			(long)symbols.symbols[i].size);
	check(strcmp(text, expected) == 0, "%s: %s", label, text);
	jp_elf_symbols_free(&symbols);
}

static void check_refusal(const char *reason, const char *label)
{
	struct jp_elf_symbols symbols;
	struct jp_error err = {""};
	int ret = elf_made_read(&made, &symbols, &err);

	check(ret == -EINVAL && !symbols.count && strstr(err.text, reason), "%s: %s", label,
	      err.text);
}

TEST(kinds)
{
	static const struct made_symbol symbols[] = {
		{"function", 0x10, 8, STT_FUNC, STV_DEFAULT, ELF_MADE_TEXT},
		{"object", 0x20, 8, STT_OBJECT, STV_DEFAULT, ELF_MADE_TEXT},
		{"chosen", 0x30, 8, STT_GNU_IFUNC, STV_DEFAULT, ELF_MADE_TEXT},
		{"label", 0x40, 8, STT_NOTYPE, STV_DEFAULT, ELF_MADE_TEXT},
		{"hidden", 0x50, 8, STT_NOTYPE, STV_HIDDEN, ELF_MADE_TEXT},
		{"internal", 0x58, 8, STT_NOTYPE, STV_INTERNAL, ELF_MADE_TEXT},
		{"hidden_function", 0x60, 8, STT_FUNC, STV_HIDDEN, ELF_MADE_TEXT},
		{"section", 0x70, 8, STT_SECTION, STV_DEFAULT, ELF_MADE_TEXT},
		{"thread_local", 0x78, 8, STT_TLS, STV_DEFAULT, ELF_MADE_TEXT},
		{"elsewhere", 0x80, 8, STT_FUNC, STV_DEFAULT, SHN_UNDEF},
		{"number", 0x80, 8, STT_FUNC, STV_DEFAULT, SHN_ABS},
		{"", 0x80, 8, STT_FUNC, STV_DEFAULT, ELF_MADE_TEXT},
		{"no_section", 0x80, 8, STT_FUNC, STV_DEFAULT, 77},
	};

	elf_made_add_code(&made, EM_X86_64, symbols, sizeof(symbols) / sizeof(*symbols));
	check_symbols("function+10:8 object+20:8 chosen+30:8 label+40:8 hidden_function+60:8",
		      "functions, objects and visible labels count");
}

TEST(sections_of_symbols)
{
	static const struct made_symbol symbols[] = {
		{"in_text", 0, 8, STT_NOTYPE, STV_DEFAULT, ELF_MADE_TEXT},
		{"in_init", ELF_MADE_CODE, 8, STT_NOTYPE, STV_DEFAULT, 2},
		{"function", ELF_MADE_CODE + 8, 8, STT_FUNC, STV_DEFAULT, 2},
		{"in_data", ELF_MADE_CODE + 16, 8, STT_NOTYPE, STV_DEFAULT, 3},
		{"unloaded", ELF_MADE_CODE + 24, 8, STT_FUNC, STV_DEFAULT, 4},
	};

	elf_made_add_code(&made, EM_X86_64, NULL, 0);
	elf_made_add_section(&made, ".init", SHT_PROGBITS, "123456789012345", 16);
	elf_made_add_section(&made, ".rodata", SHT_PROGBITS, "1234567", 8);
	elf_made_add_section(&made, ".comment", SHT_PROGBITS, "1234567", 8)->sh_flags = 0;
	elf_made_add_symbols(&made, ".symtab", SHT_SYMTAB, symbols, 5);
	check_symbols("in_text+0:8 function+108:8 in_data+110:8", "symbols in code and data count");
}

/* Mapping symbols of ARM and RISC-V are no symbols; similar names are. */
TEST(mapping_symbols)
{
	static const struct made_symbol symbols[] = {
		{"$a", 0x11, 4, STT_FUNC, STV_DEFAULT, ELF_MADE_TEXT},
		{"$d.7", 0x21, 4, STT_FUNC, STV_DEFAULT, ELF_MADE_TEXT},
		{"$tx", 0x31, 4, STT_FUNC, STV_DEFAULT, ELF_MADE_TEXT},
		{"$x", 0x41, 4, STT_FUNC, STV_DEFAULT, ELF_MADE_TEXT},
		{"$q", 0x51, 4, STT_FUNC, STV_DEFAULT, ELF_MADE_TEXT},
		{"label", 0x61, 4, STT_NOTYPE, STV_DEFAULT, ELF_MADE_TEXT},
		{"$", 0x71, 4, STT_FUNC, STV_DEFAULT, ELF_MADE_TEXT},
	};
	static const struct {
		uint16_t machine;
		const char *name, *expected;
	} table[] = {
		{EM_X86_64, "x86-64",
		 "$a+11:4 $d.7+21:4 $tx+31:4 $x+41:4 $q+51:4 label+61:4 $+71:4"},
		{EM_AARCH64, "arm64", "$tx+31:4 $q+51:4 label+61:4 $+71:4"},
		{EM_ARM, "arm, without the Thumb bit", "$tx+30:4 $q+50:4 label+61:4 $+70:4"},
		{EM_RISCV, "riscv", "$a+11:4 $tx+31:4 $q+51:4 label+61:4"},
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		elf_made_add_code(&made, table[i].machine, symbols,
				  sizeof(symbols) / sizeof(*symbols));
		check_symbols(table[i].expected, table[i].name);
	}
}

TEST(sizes)
{
	static const struct made_symbol symbols[] = {
		{"empty", 0x10, 0, STT_FUNC, STV_DEFAULT, ELF_MADE_TEXT},
		{"b", 0x10, 4, STT_FUNC, STV_DEFAULT, ELF_MADE_TEXT},
		{"a", 0x10, 4, STT_FUNC, STV_DEFAULT, ELF_MADE_TEXT},
		{"open", 0x20, 0, STT_FUNC, STV_DEFAULT, ELF_MADE_TEXT},
		{"last", 0x30, 0, STT_FUNC, STV_DEFAULT, ELF_MADE_TEXT},
	};
	struct jp_elf_symbols found;
	const struct jp_elf_symbol *last;
	uint64_t text;

	elf_made_add_code(&made, EM_X86_64, symbols, sizeof(symbols) / sizeof(*symbols));
	text = made.sections[ELF_MADE_TEXT].sh_offset;
	if (!check(!elf_made_read(&made, &found, NULL) && found.count == 3,
		   "one symbol per address counts"))
		return;
	check(jp_elf_symbols_find(&found, text + 0x13) == &found.symbols[0] &&
		      !strcmp(found.symbols[0].name, "a") &&
		      !jp_elf_symbols_find(&found, text + 0x14),
	      "a symbol with a size ends there");
	check(jp_elf_symbols_find(&found, text + 0x2f) == &found.symbols[1],
	      "a symbol without a size ends at the next");
	last = &found.symbols[2];
	check((last->offset + last->size) % 4096 == 0 && last->size > 4096 && last->size < 8192,
	      "the last symbol without a size ends with the next page");
	check(!jp_elf_symbols_find(&found, text + 0xf), "before the first symbol none is found");
	jp_elf_symbols_free(&found);
}

/* Names that overlap in a small file can be large in sum. */
TEST(long_names)
{
	enum { LENGTH = 1 << 19, COUNT = 600 };
	static char names[LENGTH + 2];
	static Elf64_Sym table[COUNT];
	struct jp_elf_symbols symbols;
	struct jp_error err = {""};
	Elf64_Shdr *head;

	elf_made_add_code(&made, EM_X86_64, NULL, 0);
	memset(names + 1, 'x', LENGTH);
	for (int i = 0; i < COUNT; i++)
		table[i] =
			(Elf64_Sym){1, ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), 0, ELF_MADE_TEXT, i, 1};
	elf_made_add_section(&made, ".strtab", SHT_STRTAB, names, sizeof(names))->sh_flags = 0;
	head = elf_made_add_section(&made, ".symtab", SHT_SYMTAB, table, sizeof(table));
	head->sh_link = made.count - 2;
	head->sh_entsize = sizeof(*table);
	check(elf_made_read(&made, &symbols, &err) == -E2BIG &&
		      strstr(err.text, "names have more than"),
	      "600 names of 512 KiB are refused: %s", err.text);
}

TEST(broken_tables)
{
	static const struct made_symbol one = {"one",    0x10,        8,
					       STT_FUNC, STV_DEFAULT, ELF_MADE_TEXT};
	static const struct made_symbol wraps = {"wraps",  0x10,        UINT64_MAX - 8,
						 STT_FUNC, STV_DEFAULT, ELF_MADE_TEXT};
	enum { STRTAB = 2, SYMTAB = 3 };
	Elf64_Sym *symbol;

	elf_made_add_code(&made, EM_X86_64, &one, 1);
	made.sections[SYMTAB].sh_entsize = 0;
	check_refusal("ELF symbol table of 24 bytes is not readable", "entries of 0 bytes");
	elf_made_add_code(&made, EM_X86_64, &one, 1);
	made.sections[SYMTAB].sh_size = 1 << 30;
	check_refusal("ELF symbol table of 1073741824 bytes is not readable",
		      "a table beyond the file");
	elf_made_add_code(&made, EM_X86_64, &one, 1);
	made.sections[SYMTAB].sh_link = ELF_MADE_TEXT;
	check_refusal("ELF symbol 0: a name or size beyond the file", "no table of names");
	elf_made_add_code(&made, EM_X86_64, &one, 1);
	symbol = (void *)(made.bytes + made.sections[SYMTAB].sh_offset);
	symbol->st_name = 1000;
	check_refusal("ELF symbol 0: a name or size beyond the file", "a name beyond its table");
	elf_made_add_code(&made, EM_X86_64, &wraps, 1);
	check_refusal("ELF symbol 0: a name or size beyond the file",
		      "a size beyond all addresses");
	elf_made_add_code(&made, EM_X86_64, &one, 1);
	made.sections[SYMTAB].sh_type = SHT_PROGBITS;
	check_symbols("", "a section of another type called .symtab is ignored");
	elf_made_add_code(&made, EM_X86_64, &one, 1);
	made.head.e_machine = EM_X86_64;
	elf_made_end(&made);
	memset(made.bytes, 0, 4);
	check(jp_elf_symbols(&(struct jp_elf_input){-1, made.bytes, made.size},
			     &(struct jp_elf_input){-1, made.bytes, made.size},
			     &(struct jp_elf_symbols){0}, NULL) == -EINVAL,
	      "a file that is not ELF is refused");
}

TEST(debug_file)
{
	static const struct made_symbol symbols[] = {
		{"function", 0x10, 8, STT_FUNC, STV_DEFAULT, ELF_MADE_TEXT},
		{"gone", 0x20, 8, STT_FUNC, STV_DEFAULT, 4},
	};
	jp_cleanup_free unsigned char *bytes = NULL, *debug = NULL;
	struct jp_elf_input runtime, file;
	struct jp_elf_symbols found;
	uint64_t text;

	elf_made_add_code(&made, EM_X86_64, NULL, 0);
	text = made.sections[ELF_MADE_TEXT].sh_addr;
	made.segments[0] = (Elf64_Phdr){.p_type = PT_LOAD,
					.p_offset = text + 0x40,
					.p_vaddr = text,
					.p_filesz = ELF_MADE_CODE,
					.p_memsz = ELF_MADE_CODE};
	elf_made_end(&made);
	runtime = elf_made_input(&made, &bytes);
	elf_made_add_code(&made, EM_X86_64, symbols, 2);
	made.sections[ELF_MADE_TEXT].sh_type = SHT_NOBITS;
	elf_made_add_section(&made, ".bss", SHT_NOBITS, NULL, 0x1000);
	elf_made_end(&made);
	file = elf_made_input(&made, &debug);
	if (!check(!jp_elf_symbols(&file, &runtime, &found, NULL) && found.count == 1,
		   "symbols in sections of the mapped file alone count"))
		return;
	check(found.symbols[0].offset == text + 0x50 && !strcmp(found.symbols[0].name, "function"),
	      "the offset follows from the mapped file's segment");
	jp_elf_symbols_free(&found);
}
