/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/model/oracle/truth.h"

/* Returns the start of the last exec of @pid, in ns, or 0. Perf maps and jitdumps start again with
 * each exec. */
uint64_t jp_last_image(const struct jp_truth *truth, uint32_t pid);
