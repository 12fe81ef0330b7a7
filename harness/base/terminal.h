/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stddef.h>
#include <stdio.h>

/* Returns the width of text lines in @fd: $COLUMNS, else the width of its terminal, else 80. */
unsigned int jp_terminal_width(int fd);

/* Where jp_terminal_shorten() leaves characters out. */
enum jp_terminal_cut {
	JP_CUT_MIDDLE, /* cuts the middle: for paths, whose last parts matter most */
	JP_CUT_END,    /* cuts the end: for sentences */
};
/* Stores @text in @out, with "..." for characters beyond @columns, 8 or more, and '?' for bytes
 * that must not be printed (harness/base/printable.h). Returns @out. */
const char *jp_terminal_shorten(const char *text, size_t columns, enum jp_terminal_cut side,
				char *out, size_t size);
/* Prints @text in lines of @width columns, which break at blanks. The cursor is at column @indent,
 * at which each line starts. Shortens a longer word, such as a path, in the middle. */
void jp_terminal_put_words(FILE *out, const char *text, unsigned int indent, unsigned int width);
/* Prints @text as jp_terminal_put_words() does, with @mark, such as "#", at the start of each line
 * except the first. */
void jp_terminal_put_marked(FILE *out, const char *mark, const char *text, unsigned int indent,
			    unsigned int width);
