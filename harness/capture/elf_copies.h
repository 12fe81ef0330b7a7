/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "harness/base/error.h"

struct jp_elf_copies;
struct jp_procmap;

/* Starts the thread that writes DIR/elf. @late: open files by their paths at the end. Returns NULL
 * and a message on errors. */
struct jp_elf_copies *jp_elf_copies_start(const char *dir, bool late, struct jp_error *err);
/* Opens the mapped file while the process @pid lives, and queues it for copying. @gen: the inode's
 * generation; 0: unknown. */
void jp_elf_copies_want(struct jp_elf_copies *copies, pid_t pid, const struct jp_procmap *map,
			uint64_t gen);
/* Waits for the last copy. Returns 0, or the first error. @copies may be NULL. */
int jp_elf_copies_finish(struct jp_elf_copies *copies, struct jp_error *err);
