/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "harness/format/perfdata/summary.h"

/* Returns whether the recorder was perf of @version or later, a JP_PERF_VERSION(), or was not perf.
 * People read a recording with the perf that made it. */
bool jp_recorder_since(const struct jp_perfdata_summary *summary, uint32_t version);
/* Returns whether perf inject --jit wrote the file: it leaves out the records with which perf
 * record ends each round. */
bool jp_recorder_is_inject(const struct jp_perfdata_summary *summary);
