/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* One moving line on standard error, if that is a terminal. */

/* Shows a text, cut to the width. */
void jp_progress_show(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* Shows a text as jp_progress_show() does, once the process has taken two seconds, and at most
 * five times a second: cheap enough for inner loops. */
void jp_progress_tick(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* Removes the line, before other output. */
void jp_progress_clear(void);
