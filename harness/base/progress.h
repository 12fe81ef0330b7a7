/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>

/* A progress line on standard error, which each update overwrites; only if standard error is a
 * terminal. */

/* Replaces the progress line by this text, cut to the terminal's width. */
void jp_progress_show(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* Returns whether to update the progress: two seconds after the first call since the line was
 * removed, then five times a second. Cheap enough for inner loops. */
bool jp_progress_is_due(void);
/* Erases the progress line, before other output. */
void jp_progress_clear(void);
/* Reads the terminal's width now, because the process will later have no right to do so. */
void jp_progress_prepare(void);
