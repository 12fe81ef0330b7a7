/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "workloads/emit/emitter.h"

/*
 * The layout of a function that somebody else wrote: a child calls it again and again under single
 * steps, and what sp and bp are at each instruction is written down. @call calls @code, from
 * anywhere. -EPERM: no tracing here. -ENOTSUP: it calls others in its turn, or an instruction's
 * frame is not always the same. -ETIME: a call did not end in 10,000 steps.
 */
int jp_measure(uint64_t code, uint64_t size, void (*call)(void), struct jp_emitted *emitted);
