/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/base/error.h"
#include "harness/format/elf/elf_image.h"

/*
 * A folder of ELF files in any layout: a copied root, ~/.debug, /usr/lib/debug, files of a run, or
 * all in one heap. A file is known by its build id; where a capture tells none, by its path below
 * the folder, or by its name if no other file is called so.
 */
struct jp_elf_folder;
/* NULL and a message: @path is no folder, or there is no memory. */
struct jp_elf_folder *jp_elf_folder_open(const char *path, struct jp_error *err);
void jp_elf_folder_free(struct jp_elf_folder *folder); /* NULL is fine */

/*
 * Opens the @nth file for @path and @id (size 0: unknown): 0 is the one at @path below the folder,
 * then come those of the build id, as a program and its symbols; or the one of the same name. Its
 * descriptor with @size, and where it is in @found (4096 bytes). -ENOENT: there is none; -EEXIST:
 * several are called so. The caller compares build ids.
 */
int jp_elf_folder_find(struct jp_elf_folder *folder, const char *path, const struct jp_build_id *id,
		       size_t nth, char *found, uint64_t *size, struct jp_error *err);
