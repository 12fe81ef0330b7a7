/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "workloads/emit/emitter.h"

/* Measures the layout of a function that we did not emit: single-steps a child that runs @call,
 * which calls the @size bytes at @code, and stores sp and bp at each instruction in @emitted.
 * Returns 0, -errno, -EPERM if tracing is not permitted, -ENOTSUP if the function calls others or
 * an instruction's frame varies, or -ETIME if a call did not end in 10,000 steps. */
int jp_measure_function(uint64_t code, uint64_t size, void (*call)(void),
			struct jp_emitted *emitted);
