/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/model/oracle/truth.h"
#include "harness/model/unwind/jit_cfi.h"

/* Returns whether the unwinding tables of @load, which covers the start of @code, lead from each
 * instruction of @code to its caller, except for those that mislead by intent (JP_INSN_MISLED). */
bool jp_truth_has_right_tables(const struct jp_machine *machine, const struct jp_truth_code *code,
			       struct jp_jit_cfi *jit, const struct jp_code_load *load);
