/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Memory of another process. Any of its threads names it: the first one may have ended. */

/* Reads the word at @addr of the thread *@context, a pid_t: a jp_stack_load. Returns false if it
 * is not readable; stores it in *@value. */
bool jp_memory_load(void *context, uint64_t addr, uint64_t *value);
/* Reads up to @size bytes at @addr. Returns their number. */
uint64_t jp_memory_read(pid_t tid, uint64_t addr, void *bytes, uint64_t size);
