/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/model/oracle/truth.h"

/* Returns the time of the last exec of @pid, in ns: what it publishes begins anew with each
 * exec. */
uint64_t jp_last_image(const struct jp_truth *truth, uint32_t pid);
