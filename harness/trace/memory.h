/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Reads memory of another process, which any of its living threads identifies (its first thread may
 * have ended). */

/* Reads the word at @addr in the process of thread *@context, a pid_t, and stores it in *@value. A
 * jp_stack_load. Returns false if the word is not readable. */
bool jp_memory_load(void *context, uint64_t addr, uint64_t *value);
/* Reads up to @size bytes at @addr. Returns the number of bytes read, 0 on error. */
uint64_t jp_memory_read(pid_t tid, uint64_t addr, void *bytes, uint64_t size);
