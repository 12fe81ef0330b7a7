// SPDX-License-Identifier: GPL-2.0-only
#include "harness/capture/events.h"

#include <asm/perf_regs.h>

#define BIT(reg) (UINT64_C(1) << PERF_REG_X86_##reg)

/* The same registers as perf's: all but the segment registers that 64-bit code does not use. */
const uint64_t jp_registers_user =
	((UINT64_C(1) << PERF_REG_X86_64_MAX) - 1) & ~(BIT(DS) | BIT(ES) | BIT(FS) | BIT(GS));
