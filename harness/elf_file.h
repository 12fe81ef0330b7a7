/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef JP_ELF_FILE_H
#define JP_ELF_FILE_H

#include <stdint.h>
#include <stdio.h>

#include "harness/error.h"

/* libelf's one home: build ids, program headers, and the small copies that a run directory keeps. */

struct jp_build_id {
	uint8_t size; /* 0: the file has none */
	unsigned char bytes[20];
};

/*
 * Saves program headers, .eh_frame_hdr and .eh_frame of the ELF image behind @fd (or, with fd < 0,
 * at @image of @size bytes, for the vDSO) as @dir/BUILDID in hex, unless that exists. *@id is set.
 * The copy is an ELF file that libdw reads. -ENODATA: no build id, or no .eh_frame.
 */
int jp_elf_save(int fd, const void *image, size_t size, const char *dir, struct jp_build_id *id,
		struct jp_error *err);
/* Only the build id. */
int jp_elf_build_id(int fd, const void *image, size_t size, struct jp_build_id *id,
		    struct jp_error *err);
/* "0123..." of @id into @text (41 bytes at least); returns @text. */
char *jp_build_id_text(const struct jp_build_id *id, char *text);

#endif
