/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "harness/base/error.h"
#include "harness/format/jit/jit_elf.h"
#include "harness/inject/inject_code.h"

/* The code of one jitdump, to be written to ELF files. */
struct jp_inject_code {
	struct jp_inject_dumps *dumps;
	size_t marker;
	const char *path; /* path of the jitdump */
	uint32_t elf_mach;
	struct jp_jit_function *functions;
	size_t count, first_code; /* @first_code: index of functions[0] in dumps->codes */
};

/* Writes the ELF files of @code, and stores in each of its entries in dumps->codes the file and the
 * offset of the code. Returns 0, or -errno and a message if a file could not be written or memory
 * ran out. */
int jp_inject_write_files(const struct jp_inject_code *code, const struct jp_inject_read *reading,
			  struct jp_error *err);
