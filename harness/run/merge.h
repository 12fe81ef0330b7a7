/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/case/case.h"

/* Returns the name of the profiler whose injector @cas uses, or NULL. */
const char *jp_merge_profiler(const struct jp_case *cas);
/* Merges @dir's perf.data and jitdumps as @cas demands: writes injected.data, the ELF files in
 * jit/, and messages in inject.txt. Returns 0, or -errno and a message. */
int jp_merge(const struct jp_case *cas, const char *dir, struct jp_error *err);
