/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "harness/format/event.h"
#include "harness/format/truth/format.h"

/* Returns whether @name is that of a perf map. perf calls anonymous memory so, and `perf inject -B`
 * writes the name into mapping records. Stores the pid of the map in *@pid. */
bool jp_mapping_is_perf_map(const char *name, uint32_t *pid);
/* Returns the kind of memory (backing) that the name in a mapping record or in a line of maps
 * shows: "//anon", "", "[anon:x]" -> ANON, "/memfd:..." -> MEMFD, "/dev/zero..." -> ZERO,
 * "/SYSV..." -> SYSV, "/dev/shm/NAME" -> SHM, "/anon_hugepage..." -> HUGETLB, "[heap]" -> HEAP, any
 * other name -> FILE (also "[vdso]", which has call frame information). */
enum jp_backing jp_mapping_backing(const char *name);

/* Returns the length of @name without the " (deleted)" that follows the name of a file that was
 * removed or replaced. */
size_t jp_mapping_name_length(const char *name);
/* Returns whether both names can be names of one file, before or after its removal. */
bool jp_mapping_same_name(const char *name, const char *other_name);
/* Returns the number in the name of a jitdump, or 0 for another file: PID in jit-PID.dump, TID in
 * Bun's jit-TID-PID-RANDOM and jit-TID-PID.dump, which perf does not take for a jitdump. */
uint32_t jp_mapping_jitdump_number(const char *path);
/* Returns whether jitproof's or perf's inject creates files with names like @path. */
bool jp_mapping_injected(const char *path);
/* Returns whether code can be in the mapping of @event: the mapping is executable; or it is a
 * record as simpleperf writes it, without MISC_MMAP_DATA, that states no protection, or only
 * reading of a file. */
bool jp_mapping_holds_code(const struct jp_event *event);
