/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdint.h>

/* What the host of this virtual machine took from all its CPUs since it runs, in ns, in steps of a
 * tick of /proc/stat, or what they took from each other; 0 where nobody tells. */
uint64_t jp_stolen_time(void);
/* The same of @text, the beginning of /proc/stat, of @hz ticks a second. */
uint64_t jp_stolen_time_of(const char *text, uint64_t hz);
/* What @cpus processors of @model ("model name" of /proc/cpuinfo) take from each other in @elapsed
 * ns: emulated ones may be run in turns, and nobody tells the guest that each of them stands still
 * while the others run (QEMU's TCG with -icount, accel/tcg/tcg-accel-ops-rr.c). */
uint64_t jp_stolen_by_turns(const char *model, long cpus, uint64_t elapsed);
