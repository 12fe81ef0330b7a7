// SPDX-License-Identifier: GPL-2.0-only
#include "harness/capture/events.h"

#include <asm/perf_regs.h>

/* The same registers as perf's: pc, and x1 to x31. */
const uint64_t jp_registers_user = (UINT64_C(1) << PERF_REG_RISCV_MAX) - 1;
