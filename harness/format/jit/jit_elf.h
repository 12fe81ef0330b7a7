/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "harness/base/error.h"
#include "harness/format/elf/elf_file.h"
#include "harness/format/jit/jit_layout.h"

/* A file that jp_jit_elf_write() wrote. */
struct jp_jit_elf {
	char name[64]; /* in the output folder */
	uint32_t maj, min;
	uint64_t ino, size;
	struct jp_build_id id;
	uint64_t bad_frames; /* functions with an unusable .eh_frame */
	uint64_t mapped;     /* end of the bytes that may be mapped, tables included */
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
