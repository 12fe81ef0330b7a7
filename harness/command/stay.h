/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>

#include "harness/format/rundir/run_dir.h"

/*
 * For commands that start workloads and work in temporary folders: they go on in a process of their
 * own, and another stays until that has ended, however it did, and removes those folders
 * (survivor.h).
 */

/* True: end with *@status, in the process that stays, or where it could not be had. */
bool jp_stay_behind(const char *command, int *status);
/* As jp_run_dir_make(); a temporary one may be removed earlier. */
int jp_stay_folder(struct jp_run_dir *dir, const char *path, struct jp_error *err);
