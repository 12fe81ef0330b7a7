/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <gelf.h>
#include <stddef.h>

#include "harness/base/error.h"
#include "harness/format/elf/elf_image.h"

/* Private to harness/format/elf/: an ELF file read by libelf. */

enum { JP_ELF_MAX_SECTIONS = 65536 };

struct jp_elf_source {
	Elf *elf;
	struct jp_elf_parts parts; /* libelf owns the tables */
};

/* Opens the file @fd or, if @fd < 0, the @size bytes at @image. Returns 0, or -errno and a message;
 * -EINVAL: not an ELF file, or broken. */
int jp_elf_source_open(struct jp_elf_source *source, int fd, const void *image, size_t size,
		       struct jp_error *err);
/* Returns 0, or -EINVAL and a message if the file is not little endian. */
int jp_elf_source_check_class(const struct jp_elf_source *source, struct jp_error *err);
/* Adds the first code section as a segment if the file has no program headers, like those that perf
 * 5.10 makes from a jitdump. */
void jp_elf_source_add_segment(struct jp_elf_source *source);
/* Returns the first section named @wanted_name, or NULL. Stores its header in *@head. */
Elf_Scn *jp_elf_section(const struct jp_elf_source *source, const char *wanted_name,
			GElf_Shdr *head);
/* Closes @source, also after a failed open. */
void jp_elf_source_close(struct jp_elf_source *source);
#define JP_ELF_CLOSED_AT_END __attribute__((cleanup(jp_elf_source_close)))
