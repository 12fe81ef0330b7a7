/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/base/error.h"
#include "harness/format/elf/elf_image.h"

/* A folder of ELF files in any layout: a copied root, ~/.debug, /usr/lib/debug, a run's files, or
 * one flat directory. Files are found by build id. If the capture has no build id, they are found
 * by their path below the folder, or by their name if it is unique. */
struct jp_elf_folder;
/* Opens the folder @path. Returns NULL and a message if it is no folder or there is no memory. */
struct jp_elf_folder *jp_elf_folder_open(const char *path, struct jp_error *err);
void jp_elf_folder_free(struct jp_elf_folder *folder);

/* Opens candidate number @nth for a file with the recorded @path and build id @id (size 0:
 * unknown). Candidate 0 is the file at @path below the folder. The next candidates are the files
 * with the build id (a program and its symbols) or, if that is unknown, the file of the same name.
 * Stores the path in @file_path (4096 bytes) and the size in @size. Returns a descriptor, -ENOENT
 * if there is no such candidate, or -EEXIST if several files have the name. The caller compares
 * build ids. */
int jp_elf_folder_find(struct jp_elf_folder *folder, const char *path, const struct jp_build_id *id,
		       size_t nth, char *file_path, uint64_t *size, struct jp_error *err);
