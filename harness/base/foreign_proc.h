/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>

/* Whether /proc is mounted, and counts the processes of another pid namespace than ours, as after
 * `unshare --pid --fork`: its numbers are not our processes. */
bool jp_foreign_proc(void);
