/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/model/oracle/truth.h"

/* From when on @pid is what it was last: what it publishes is begun anew with each exec. */
uint64_t jp_last_image(const struct jp_truth *truth, uint32_t pid);
