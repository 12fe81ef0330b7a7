/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <elf.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/cleanup.h"
#include "harness/format/elf/elf_symbols.h"

/* Builds a 64-bit little-endian ELF file section by section. Tests may change the headers until
 * elf_made_end(). */
enum { ELF_MADE_SECTIONS = 24, ELF_MADE_MOST = 1 << 20, ELF_MADE_TEXT = 1, ELF_MADE_CODE = 0x100 };

struct elf_made {
	Elf64_Ehdr head;
	Elf64_Phdr segments[2]; /* p_type 0: no segment */
	Elf64_Shdr sections[ELF_MADE_SECTIONS];
	const char *names[ELF_MADE_SECTIONS];
	unsigned int count;
	size_t size;
	unsigned char bytes[ELF_MADE_MOST];
};

static void elf_made_begin(struct elf_made *made, uint16_t machine)
{
	made->head = (Elf64_Ehdr){
		.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
		.e_type = ET_DYN,
		.e_machine = machine,
		.e_version = EV_CURRENT,
		.e_ehsize = sizeof(Elf64_Ehdr),
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_shentsize = sizeof(Elf64_Shdr),
	};
	memset(made->segments, 0, sizeof(made->segments));
	made->sections[0] = (Elf64_Shdr){0};
	made->names[0] = "";
	made->count = 1;
	made->size = sizeof(Elf64_Ehdr) + sizeof(made->segments);
}

/* Appends @size @bytes, aligned to 8. Returns their offset in the file. */
static size_t elf_made_put(struct elf_made *made, const void *bytes, size_t size)
{
	size_t offset = (made->size + 7) & ~(size_t)7;

	if (size > sizeof(made->bytes) - offset)
		exit(99);
	memset(made->bytes + made->size, 0, offset - made->size);
	if (size)
		memcpy(made->bytes + offset, bytes, size);
	made->size = offset + size;
	return offset;
}

/* Appends a section of @size bytes, whose address is its file offset. Returns its header. */
static Elf64_Shdr *elf_made_add_section(struct elf_made *made, const char *name, uint32_t type,
					const void *bytes, size_t size)
{
	size_t offset = elf_made_put(made, bytes, type == SHT_NOBITS ? 0 : size);
	Elf64_Shdr *head = &made->sections[made->count];

	if (made->count == ELF_MADE_SECTIONS - 1)
		exit(99);
	*head = (Elf64_Shdr){.sh_type = type,
			     .sh_flags = SHF_ALLOC,
			     .sh_addr = offset,
			     .sh_offset = offset,
			     .sh_size = size};
	made->names[made->count++] = name;
	return head;
}

/* Appends section names and headers. The file is then the first @made->size bytes. */
static void elf_made_end(struct elf_made *made)
{
	char names[512] = "";
	size_t length = 1;

	made->names[made->count] = ".shstrtab";
	for (unsigned int i = 1; i <= made->count; i++) {
		made->sections[i].sh_name = length;
		length +=
			snprintf(names + length, sizeof(names) - length, "%s", made->names[i]) + 1;
	}
	if (length > sizeof(names))
		exit(99);
	made->sections[made->count].sh_type = SHT_STRTAB;
	made->sections[made->count].sh_flags = 0;
	made->sections[made->count].sh_offset = elf_made_put(made, names, length);
	made->sections[made->count].sh_size = length;
	made->head.e_shstrndx = made->count++;
	made->head.e_shnum = made->count;
	made->head.e_shoff = elf_made_put(made, made->sections, made->count * sizeof(Elf64_Shdr));
	made->head.e_phnum =
		(made->segments[0].p_type != PT_NULL) + (made->segments[1].p_type != PT_NULL);
	made->head.e_phoff = made->head.e_phnum ? sizeof(Elf64_Ehdr) : 0;
	memcpy(made->bytes, &made->head, sizeof(made->head));
	memcpy(made->bytes + sizeof(made->head), made->segments, sizeof(made->segments));
}

/* Does the same as elf_made_end(), but the ELF header points to no sections. */
__attribute__((unused)) static void elf_made_end_stripped(struct elf_made *made)
{
	elf_made_end(made);
	made->head.e_shoff = made->head.e_shnum = made->head.e_shstrndx = 0;
	memcpy(made->bytes, &made->head, sizeof(made->head));
}

struct made_symbol {
	const char *name;
	uint64_t value, size; /* @value: offset in .text */
	unsigned char type, visibility;
	uint16_t section;
};

/* Appends a string table, and a section @section_name with the symbol table. Returns the header of
 * the symbol table. */
__attribute__((unused)) static Elf64_Shdr *
elf_made_add_symbols(struct elf_made *made, const char *section_name, uint32_t type,
		     const struct made_symbol *symbols, size_t count)
{
	Elf64_Sym table[32] = {0};
	char names[512] = "";
	size_t length = 1;
	Elf64_Shdr *head;

	for (size_t i = 0; i < count; i++) {
		table[i] = (Elf64_Sym){
			.st_name = length,
			.st_info = ELF64_ST_INFO(STB_GLOBAL, symbols[i].type),
			.st_other = symbols[i].visibility,
			.st_shndx = symbols[i].section,
			.st_value = made->sections[ELF_MADE_TEXT].sh_addr + symbols[i].value,
			.st_size = symbols[i].size,
		};
		length +=
			snprintf(names + length, sizeof(names) - length, "%s", symbols[i].name) + 1;
	}
	elf_made_add_section(made, ".strtab", SHT_STRTAB, names, length)->sh_flags = 0;
	head = elf_made_add_section(made, section_name, type, table, count * sizeof(*table));
	head->sh_link = made->count - 2;
	head->sh_entsize = sizeof(*table);
	return head;
}

/* Begins a file with .text and a .symtab of @symbols. */
__attribute__((unused)) static void elf_made_add_code(struct elf_made *made, uint16_t machine,
						      const struct made_symbol *symbols,
						      size_t count)
{
	static const unsigned char code[ELF_MADE_CODE];

	elf_made_begin(made, machine);
	elf_made_add_section(made, ".text", SHT_PROGBITS, code, sizeof(code))->sh_flags |=
		SHF_EXECINSTR;
	if (count)
		elf_made_add_symbols(made, ".symtab", SHT_SYMTAB, symbols, count);
}

/* Copies the file into *@bytes, exactly as large as the file so that ASan detects overruns. */
__attribute__((unused)) static struct jp_elf_input elf_made_input(const struct elf_made *made,
								  unsigned char **bytes)
{
	*bytes = malloc(made->size);
	if (!*bytes)
		exit(99);
	memcpy(*bytes, made->bytes, made->size);
	return (struct jp_elf_input){.fd = -1, .image = *bytes, .size = made->size};
}

/* Ends the file and reads its symbols. */
__attribute__((unused)) static int
elf_made_read(struct elf_made *made, struct jp_elf_symbols *symbols, struct jp_error *err)
{
	jp_cleanup_free unsigned char *bytes = NULL;
	struct jp_elf_input file;

	elf_made_end(made);
	file = elf_made_input(made, &bytes);
	return jp_elf_symbols(&file, &file, symbols, err);
}
