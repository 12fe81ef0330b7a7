/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "harness/base/error.h"
#include "harness/format/jit/jit_elf.h"
#include "harness/inject/inject_code.h"

/* What one jitdump loaded, as it becomes ELF files. */
struct jp_inject_code {
	struct jp_inject_dumps *dumps;
	size_t marker;
	const char *path; /* of the jitdump */
	uint32_t elf_mach;
	struct jp_jit_function *functions;
	size_t count, first; /* @first: their first one's number among the codes of @dumps */
};

/* Writes them; the codes of @dumps learn where they stand. -errno: a file could not be written, or
 * no memory. */
int jp_inject_write_files(const struct jp_inject_code *code, const struct jp_inject_read *read,
			  struct jp_error *err);
