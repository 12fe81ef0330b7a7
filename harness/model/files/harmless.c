// SPDX-License-Identifier: GPL-2.0-only
#include "harness/model/files/harmless.h"

#include <elf.h>
#include <fnmatch.h>
#include <string.h>

bool jp_file_may_be_shown(const char *path, bool is_only_file, const unsigned char *head,
			  size_t size)
{
	Elf64_Ehdr elf;

	if (is_only_file && (fnmatch("*/jit-*.dump", path, 0) == 0 ||
			     fnmatch("*/jit-[0-9]*-[0-9]*-*", path, 0) == 0 || /* Bun's jitdump */
			     fnmatch("/tmp/perf-*.map", path, FNM_PATHNAME) == 0))
		return true;
	if (size < sizeof(elf))
		return false;
	memcpy(&elf, head, sizeof(elf));
	/* Refuse core files, which hold the memory of a process. */
	return !memcmp(elf.e_ident, ELFMAG, SELFMAG) &&
	       (elf.e_type == ET_EXEC || elf.e_type == ET_DYN);
}
