/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stddef.h>

/* A search for the name that a mistyped word probably means. */
struct jp_nearest {
	const char *word; /* the mistyped word */
	char name[80];    /* the nearest name so far; "": no offered name is near */
	size_t distance;  /* edit distance between @word and @name */
};

/* Compares @name with the word, and keeps the nearest name. Of equally near names the first
 * wins. */
void jp_nearest_compare(struct jp_nearest *nearest, const char *name);
/* Stores a question such as "; did you mean 'run'?" in @text, or "" if no name is near. Returns
 * @text. */
const char *jp_nearest_hint(const struct jp_nearest *nearest, char *text, size_t size);
