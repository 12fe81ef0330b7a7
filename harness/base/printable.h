/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdio.h>

/*
 * Names are what others made of them. Nothing of theirs that a terminal would obey, or a reader
 * take for the end of a line, is printed: control characters (the second set of them, U+0080 to
 * U+009F, too), what turns the direction of text, the separators of lines, bytes that are no UTF-8.
 */

/* How many bytes the character at @s has, which is not the end; 0: it is none to print. */
unsigned int jp_printable_length(const char *s);
/* Prints @text up to the first byte that is none to print: where that is, or its end. */
const char *jp_printable_run(FILE *out, const char *text);
/* @text, with '?' for each byte that is not to be printed, line feeds among them. */
void jp_printable_put(FILE *out, const char *text);
/* The same in place, but for line feeds, which stay. Returns @text. */
char *jp_printable(char *text);
