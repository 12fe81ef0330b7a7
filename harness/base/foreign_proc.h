/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>

/* Returns whether /proc is mounted but shows another pid namespace than that of this process, as
 * after `unshare --pid --fork`: its pids mean other processes. */
bool jp_is_proc_of_other_namespace(void);
