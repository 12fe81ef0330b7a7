/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "harness/model/unwind/cfi.h"
#include "harness/format/jit/code_loads.h"
#include "harness/format/event.h"

/* Unwind information of emitted code from the UNWINDING_INFO of jitdumps, found by process, address
 * and time. Parsed on first use. */
struct jp_jit_cfi;
/* Creates unwind information from the code in @loads, which must live longer. @machine: EM_*.
 * Returns NULL if there is no memory. */
struct jp_jit_cfi *jp_jit_cfi_new(const struct jp_code_loads *loads, uint16_t machine);
void jp_jit_cfi_free(struct jp_jit_cfi *jit);

/* Applies FORK and COMM events, in order of time: a forked process inherits its parent's code until
 * it calls exec. Returns 0 or -ENOMEM. */
int jp_jit_cfi_apply(struct jp_jit_cfi *jit, const struct jp_event *event);
/* Returns the function of @pid at @addr at @time in the jitdumps, or NULL. A later function
 * replaces an earlier one if it covers the earlier one's start. */
const struct jp_code_load *jp_jit_cfi_at(const struct jp_jit_cfi *jit, uint32_t pid, uint64_t addr,
					 uint64_t time);
/* Returns whether @load has usable tables. */
bool jp_jit_cfi_has_tables(struct jp_jit_cfi *jit, const struct jp_code_load *load);
/* Steps like jp_cfi_step(), from @addr in @load. */
enum jp_cfi_answer jp_jit_cfi_step(struct jp_jit_cfi *jit, const struct jp_code_load *load,
				   uint64_t addr, struct jp_regs *regs, jp_stack_load read,
				   void *context);
/* Returns the number of functions with unusable tables. */
uint64_t jp_jit_cfi_count_bad(const struct jp_jit_cfi *jit);
