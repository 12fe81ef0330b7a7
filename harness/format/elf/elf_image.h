/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef JP_ELF_IMAGE_H
#define JP_ELF_IMAGE_H

#include <elf.h>

#include "harness/format/elf/cfi_check.h"
#include "harness/format/elf/elf_file.h"

/* Private to harness/format/elf/: what the small copy of an ELF file is made of. */
struct jp_elf_parts {
	Elf64_Ehdr head;
	Elf64_Phdr *segments;
	size_t nr_segments;
	struct jp_cfi_section index, frame; /* index: bytes NULL: none */
};

/* Checks @parts and makes the copy. @out is all zero but for the build id; where it fails, zero. */
int jp_elf_image_make(struct jp_elf_parts *parts, struct jp_elf_image *out, struct jp_error *err);

#endif
