/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>

#include "harness/format/rundir/run_dir.h"

/*
 * For commands that start workloads and use temporary folders: the command continues in a child.
 * The parent waits until the child ends, by exit or by any signal, and then removes the temporary
 * folders (survivor.h).
 */

/* Forks the child. Returns false in the child. Returns true in the parent after the child has
 * ended, or on errors; the caller must then exit with *@status. */
bool jp_fork_and_clean_up(const char *command, int *status);
/* Makes a run directory as jp_run_dir_make() does. The parent removes a temporary directory that
 * the child leaves behind. */
int jp_make_removable_folder(struct jp_run_dir *dir, const char *path, struct jp_error *err);
