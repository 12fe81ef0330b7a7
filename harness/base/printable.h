/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef JP_BASE_PRINTABLE_H
#define JP_BASE_PRINTABLE_H

/* Names are what others made of them: nothing in @text that a terminal would obey stays, but ends
 * of lines. Returns @text. */
char *jp_printable(char *text);

#endif
