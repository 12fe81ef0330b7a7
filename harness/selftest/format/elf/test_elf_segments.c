// SPDX-License-Identifier: GPL-2.0-only
/* Tests that .eh_frame of a file without sections starts where its index points and ends with its
 * records. */
#include <elf.h>

#include "harness/format/elf/elf_file.h"
#include "harness/selftest/support/check.h"

enum { VADDR = 0x400000, INDEX = 0x200, FRAME = 0x210, MOST = 1 << 18 };

static unsigned char file[MOST];

/* Makes a file of @size bytes whose .eh_frame has records of @lengths. */
static void make_file(const uint32_t *lengths, size_t count, size_t size)
{
	static const unsigned char index[] = {1, 0x1b, 0xff, 0xff, FRAME - INDEX - 4};
	/* Version 1, alignments 1 and -8, return address in register 16, nops. */
	static const unsigned char cie[] = {0, 0, 0, 0, 1, 0, 1, 0x78, 16};
	const Elf64_Ehdr head = {.e_ident = {0x7f, 'E', 'L', 'F', 2, 1, 1},
				 .e_type = ET_DYN,
				 .e_machine = EM_X86_64,
				 .e_version = 1,
				 .e_phoff = sizeof(head),
				 .e_ehsize = sizeof(head),
				 .e_phentsize = sizeof(Elf64_Phdr),
				 .e_phnum = 2};
	const Elf64_Phdr parts[] = {
		{PT_LOAD, PF_R | PF_X, 0, VADDR, VADDR, size, size, 0x1000},
		{PT_GNU_EH_FRAME, PF_R, INDEX, VADDR + INDEX, VADDR + INDEX, 16, 16, 4}};
	size_t offset = FRAME;

	memset(file, 0, sizeof(file));
	memcpy(file, &head, sizeof(head));
	memcpy(file + sizeof(head), parts, sizeof(parts));
	memcpy(file + INDEX, index, sizeof(index));
	for (size_t i = 0; i < count; i++) {
		memcpy(file + offset, &lengths[i], 4);
		if (lengths[i] && lengths[i] < MOST)
			memcpy(file + offset + 4, cie, sizeof(cie));
		offset += 4 + (size_t)lengths[i];
	}
}

/* Returns the size of the extracted .eh_frame, or 0. */
static uint64_t find_frame_size(size_t size)
{
	struct jp_error err = {""};
	struct jp_elf_image image;
	Elf64_Shdr section = {0};
	Elf64_Ehdr head;

	if (jp_elf_extract(-1, file, size, &image, &err))
		return 0;
	memcpy(&head, image.bytes, sizeof(head));
	for (unsigned int i = 0; i < head.e_shnum && section.sh_addr != VADDR + FRAME; i++)
		memcpy(&section, image.bytes + head.e_shoff + i * sizeof(section), sizeof(section));
	jp_elf_image_free(&image);
	return section.sh_addr == VADDR + FRAME ? section.sh_size : 0;
}

TEST(elf_segments)
{
	static const struct {
		const char *label;
		uint32_t lengths[4];
		size_t count;
		uint64_t size;
	} rows[] = {
		{"two records", {20, 12}, 2, 24 + 16},
		{"a record of more than 64 KiB", {20, 0x10014, 12}, 3, 24 + 0x10018 + 16},
		{"a record behind the terminator", {20, 0, 12}, 3, 24},
		{"a record that ends behind the file", {20, MOST}, 2, 24},
		{"only a record that ends behind the file", {MOST}, 1, 0},
		{"no record at all", {0}, 1, 0},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		uint64_t frame_size;

		make_file(rows[i].lengths, rows[i].count, MOST / 2);
		frame_size = find_frame_size(MOST / 2);
		check(frame_size == rows[i].size, "%s: %llu bytes of .eh_frame are found",
		      rows[i].label, (unsigned long long)frame_size);
	}
}
