/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "harness/base/error.h"
#include "harness/format/elf/elf_file.h"
#include "harness/format/jit/jit_layout.h"

/* Properties of an ELF file that jp_jit_elf_write() wrote. */
struct jp_jit_elf {
	char name[64]; /* file name in the output folder */
	uint32_t maj, min;
	uint64_t ino, size;
	struct jp_build_id id;
	uint64_t bad_frames; /* number of functions with an unusable .eh_frame */
	uint64_t mapped_end; /* file offset of the end of the bytes to map, including the tables */
};
/*
 * Writes @functions of process @pid as ELF file number @file into the output folder
 * (harness/base/output_folder.h): code, symbols, program headers, build id, call frame information
 * and line table. All @functions belong to this file, sorted by offset. The build id, and so the
 * name, depends on the contents. Never overwrites: an existing file of the same name must have the
 * same contents. Returns 0, or -errno and a message.
 */
int jp_jit_elf_write(uint32_t pid, uint16_t machine, const struct jp_jit_function *const *functions,
		     size_t count, uint32_t file, struct jp_jit_elf *elf, struct jp_error *err);
