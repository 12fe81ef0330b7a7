/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/case/case.h"

/* The profiler that merges for @cas; NULL: none does. */
const char *jp_merge_profiler(const struct jp_case *cas);
/* @dir's perf.data and jitdumps become injected.data and the ELF files in jit/, as @cas says; what
 * there is to say of it stands in inject.txt. */
int jp_merge(const struct jp_case *cas, const char *dir, struct jp_error *err);
