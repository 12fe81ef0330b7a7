/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>

/* Returns whether /proc is mounted but shows another pid namespace than ours, as after `unshare
 * --pid --fork`: its numbers are not our processes. */
bool jp_foreign_proc(void);
