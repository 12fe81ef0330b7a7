// SPDX-License-Identifier: GPL-2.0-only
#include "harness/capture/events.h"

#include <asm/perf_regs.h>

/* The same registers as perf's: x0 to x29, the link register, sp and pc. */
const uint64_t jp_registers_user = (UINT64_C(1) << PERF_REG_ARM64_MAX) - 1;
