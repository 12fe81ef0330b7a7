/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <gelf.h>
#include <stddef.h>

#include "harness/base/error.h"
#include "harness/format/elf/elf_image.h"

/* An ELF file as libelf reads it, for this folder alone. */

enum { JP_ELF_MAX_SECTIONS = 65536 };

struct jp_elf_source {
	Elf *elf;
	struct jp_elf_parts parts; /* tables belong to libelf */
};

/* The file at @fd, or with @fd < 0 the @size bytes at @image. -EINVAL: no ELF file, or broken. */
int jp_elf_source_open(struct jp_elf_source *source, int fd, const void *image, size_t size,
		       struct jp_error *err);
/* -EINVAL: it is not of 64 bits and little endian. */
int jp_elf_source_ours(const struct jp_elf_source *source, struct jp_error *err);
/* Files that perf 5.10 makes of a jitdump have sections but no program headers: their code as a
 * segment. */
void jp_elf_source_sections(struct jp_elf_source *source);
/* The first section called @wanted, its header in *@head and its number in *@index (may be NULL);
 * NULL: there is none. */
Elf_Scn *jp_elf_section(const struct jp_elf_source *source, const char *wanted, GElf_Shdr *head,
			size_t *index);
/* Opened or not. */
void jp_elf_source_close(struct jp_elf_source *source);
#define JP_ELF_CLOSED_AT_END __attribute__((cleanup(jp_elf_source_close)))
