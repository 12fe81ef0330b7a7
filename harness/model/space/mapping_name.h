/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "harness/format/truth/format.h"

/* What a record's or a maps line's name says of the backing: "//anon", "", "[anon:x]" -> ANON,
 * "/memfd:..." -> MEMFD, "/dev/zero..." -> ZERO, "/SYSV..." -> SYSV, "/dev/shm/NAME" -> SHM,
 * "/anon_hugepage..." -> HUGETLB, "[heap]" -> HEAP, all else FILE ("[vdso]" too: it has call frame
 * information). */
enum jp_backing jp_mapping_backing(const char *name);

/* How long @name is without the " (deleted)" that stands behind a file's from when it is removed or
 * replaced. */
size_t jp_mapping_name_length(const char *name);
/* Whether both are one file's, before or after that. */
bool jp_mapping_same_name(const char *one, const char *other);
