/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>

/* Returns whether one of @count @globs matches the whole @name, or there are none. */
bool jp_globs_match(char *const *globs, int count, const char *name);
