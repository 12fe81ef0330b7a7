/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <elf.h>

#include "harness/format/elf/cfi_check.h"

struct jp_build_id {
	uint8_t size; /* 0: the file has no build id */
	unsigned char bytes[20];
};

/* The small copy of an ELF file: a complete ELF file whose call frame information jp_cfi_check()
 * has checked. libdw reads nothing else. */
struct jp_elf_segment {
	uint64_t offset, vaddr, size; /* place in the original file, in bytes */
};
struct jp_elf_image {
	unsigned char *bytes;
	size_t size;
	struct jp_elf_segment *code; /* the executable segments */
	size_t nr_code;
	uint16_t machine; /* e_machine */
	struct jp_build_id id;
	size_t functions, framed; /* as in struct jp_cfi_sound */
};
void jp_elf_image_free(struct jp_elf_image *image);

/* The parts of an ELF file that a copy consists of. */
struct jp_elf_parts {
	Elf64_Ehdr head;
	Elf64_Phdr *segments;
	size_t nr_segments;
	struct jp_cfi_section index, frame; /* index: bytes NULL: none */
};

/* Checks @parts and makes the copy @out, which must be zero except for the build id. Returns 0, or
 * -errno and a message, and then sets @out to zero. */
int jp_elf_image_make(struct jp_elf_parts *parts, struct jp_elf_image *out, struct jp_error *err);

/* Makes a copy from tables that are in no file: @frame and @index (NULL: none), which describe the
 * code segment @code. Returns 0, or -errno and a message. */
int jp_elf_make_from_tables(uint16_t machine, const struct jp_elf_segment *code,
			    const struct jp_cfi_section *frame, const struct jp_cfi_section *index,
			    struct jp_elf_image *out, struct jp_error *err);
