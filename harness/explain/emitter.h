/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/explain/ends.h"
#include "harness/explain/runtimes.h"

/* Returns the runtime that emitted the code in @memory of process @pid, or NULL. Decides by the
 * memory's name, by the file that calls the code, by a library of the process, or else by its
 * program or @comm. @memory may be NULL. Stores in *@caller the file that calls the code if it
 * belongs to no known runtime and is not the program; else NULL. */
const struct jp_runtime *jp_emitter_find(const struct jp_ends *ends, uint32_t pid,
					 const char *memory, const char *comm, const char **caller);
