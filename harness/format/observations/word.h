/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>

/* Splits lines into words, which are separated by one blank. */

/* Returns the next word of *@line, or NULL, and moves *@line past the blank after it. */
char *jp_word_split(char **line);
/* Decodes %XX in @name, which stands for any byte but NUL. Returns false if it is malformed. */
bool jp_word_unescape(char *name);
