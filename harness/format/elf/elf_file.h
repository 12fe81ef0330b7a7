/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "harness/base/error.h"
#include "harness/format/elf/elf_image.h"

/* Build ids of ELF files, and the small copies of ELF files in a run directory's elf/. */

/* Saves a small copy of an ELF image as @dir/BUILDID (in hexadecimal), unless that file exists: its
 * program headers, .eh_frame_hdr and .eh_frame, as an ELF file that libdw reads. The image is the
 * file @fd or, if @fd < 0, the @size bytes at @image (for the vDSO). Stores the build id in *@id.
 * Returns 0, or -errno and a message; -ENODATA: the image has no build id or no .eh_frame. */
int jp_elf_save(int fd, const void *image, size_t size, const char *dir, struct jp_build_id *id,
		struct jp_error *err);
/* Stores a digest (harness/base/digest.h) of the copy that jp_elf_save() makes of the image in
 * *@digest. Returns 0, or -errno and a message. */
int jp_elf_digest(const char *dir, const char *build_id, uint64_t *digest, struct jp_error *err);
/* Stores the build id of the image in *@id. Arguments and errors as for jp_elf_save(). */
int jp_elf_build_id(int fd, const void *image, size_t size, struct jp_build_id *id,
		    struct jp_error *err);
/* Name of the vDSO of 32-bit processes in the file elf/index, where "[vdso]" is that of 64-bit
 * processes. */
#define JP_ELF_COMPAT_VDSO "[vdso32]"
/* Returns the name in elf/index for the file of a mapping called @name that ends at @end.
 * Recognizes a 32-bit vDSO by its address: the vDSO of a 64-bit process lies near its stack, so not
 * below 4 GiB. */
const char *jp_elf_index_name(const char *name, uint64_t end);
/* Writes @id as hexadecimal to @text, of at least 41 bytes, and returns @text. */
char *jp_build_id_text(const struct jp_build_id *id, char *text);

/* Makes the copy that jp_elf_save() writes, in memory. Returns 0, or -errno and a message;
 * -ENODATA: no .eh_frame; -EINVAL: not a little endian ELF file, or its tables are broken. */
int jp_elf_extract(int fd, const void *image, size_t size, struct jp_elf_image *out,
		   struct jp_error *err);
