/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdint.h>

/* What the host of this virtual machine took from all its CPUs since it runs, in ns, in steps of a
 * tick of /proc/stat; 0 where nobody tells. */
uint64_t jp_stolen_time(void);
/* The same of @text, the beginning of /proc/stat, of @hz ticks a second. */
uint64_t jp_stolen_time_of(const char *text, uint64_t hz);
