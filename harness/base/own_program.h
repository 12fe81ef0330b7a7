/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <limits.h>

#include "harness/base/error.h"

/* Stores the path of program @name in the folder of the running program. Returns 0, or -errno and a
 * message: -ENOENT if it does not exist; -EPERM if other users can change it. */
int jp_find_program_beside(char path[PATH_MAX], const char *name, struct jp_error *err);
