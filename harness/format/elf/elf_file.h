/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "harness/base/error.h"
#include "harness/format/elf/elf_image.h"

/* Build ids, and the small copies that a run directory keeps. */

/*
 * Saves program headers, .eh_frame_hdr and .eh_frame of the ELF image behind @fd (or, with fd < 0,
 * at @image of @size bytes, for the vDSO) as @dir/BUILDID in hex, unless that exists. *@id is set.
 * The copy is an ELF file that libdw reads. -ENODATA: no build id, or no .eh_frame.
 */
int jp_elf_save(int fd, const void *image, size_t size, const char *dir, struct jp_build_id *id,
		struct jp_error *err);
/* A number for the bytes of that copy (harness/base/digest.h); -errno and a message. */
int jp_elf_digest(const char *dir, const char *build_id, uint64_t *digest, struct jp_error *err);
/* Only the build id. */
int jp_elf_build_id(int fd, const void *image, size_t size, struct jp_build_id *id,
		    struct jp_error *err);
/* "0123..." of @id into @text (41 bytes at least); returns @text. */
char *jp_build_id_text(const struct jp_build_id *id, char *text);

/* What jp_elf_save() writes, in memory. -ENODATA: no .eh_frame. -EINVAL: not an ELF file that we
 * read, or its tables are broken. */
int jp_elf_extract(int fd, const void *image, size_t size, struct jp_elf_image *out,
		   struct jp_error *err);
