/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>

#include "harness/format/rundir/run_dir.h"

/*
 * For commands that start workloads and use temporary folders: the command continues in a child,
 * while its parent waits for the end of the child, even by a signal, and removes those folders
 * (survivor.h).
 */

/* Forks the child. Returns false in the child; true in the parent after the child's end, or on
 * errors: the caller must then end with *@status. */
bool jp_stay_behind(const char *command, int *status);
/* Makes a run directory as jp_run_dir_make() does; the parent removes a temporary one, unless the
 * child does so earlier. */
int jp_stay_folder(struct jp_run_dir *dir, const char *path, struct jp_error *err);
