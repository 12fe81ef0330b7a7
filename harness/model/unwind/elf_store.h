/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef JP_ELF_STORE_H
#define JP_ELF_STORE_H

#include <stdbool.h>

#include "harness/model/unwind/cfi.h"
#include "harness/model/space/replay.h"

/*
 * Finds the ELF file whose call frame information serves a mapping. Opens each file once, and
 * remembers failures too.
 *
 * @dir is a run directory's elf/: BUILDID files, and `index` with lines "BUILDID MAJ:MIN INO PATH"
 * that tie a mapping's recorded path and inode to one (the vDSO's line is
 * "BUILDID 0:0 0 [vdso]"; a newline in PATH is written \012). A mapping whose record has a build id
 * needs no index. With @system, files at their recorded paths serve as well, where build id or
 * inode are the recorded ones, and our own vDSO serves for [vdso]. (Device numbers are not
 * compared: on overlayfs and btrfs the kernel records others than stat() gives.)
 */
struct jp_elf_store;
struct jp_elf_store *jp_elf_store_new(const char *dir, bool system);
void jp_elf_store_free(struct jp_elf_store *store);

/* One file, or why it cannot be opened. Lives as long as the store. */
struct jp_elf_entry {
	struct jp_cfi *cfi; /* NULL: @why */
	const char *why;
};
/* NULL: no memory. mapping->file may keep the result. */
struct jp_elf_entry *jp_elf_store_get(struct jp_elf_store *store, const struct jp_mapping *mapping);

#endif
