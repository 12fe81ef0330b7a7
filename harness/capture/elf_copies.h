/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "harness/base/error.h"

struct jp_elf_copies;
struct jp_procmap;

/* Starts the thread that copies mapped ELF files to @dir/elf. @open_at_end: open the files only at
 * the end, by their recorded paths, as many tools do. Returns NULL and a message on errors. */
struct jp_elf_copies *jp_elf_copies_start(const char *dir, bool open_at_end, struct jp_error *err);
/* Opens the file of mapping @map of process @pid, which should still live, and queues it for
 * copying. @gen: the generation of its inode; 0: unknown. */
void jp_elf_copies_request(struct jp_elf_copies *copies, pid_t pid, const struct jp_procmap *map,
			   uint64_t gen);
/* Waits for the last copy and frees @copies, which may be NULL. Returns 0, or -errno and a message
 * for the first error. */
int jp_elf_copies_finish(struct jp_elf_copies *copies, struct jp_error *err);
