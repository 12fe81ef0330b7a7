/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdio.h>

#include "harness/outcome/outcome.h"

/* Prints each account of @books (a total and the classes that add up to it): its classes, largest
 * first, and their sum. Sorts the classes. Each line starts with @mark. Breaks lines of more than
 * @width columns between classes; 0: never. */
void jp_books_print(FILE *out, const struct jp_books *books, const char *mark, unsigned int width);
/* Prints each metric of @result that counted something or has an expectation: the count, the 95 %
 * interval of a rate, and the expectation. Each line starts with @mark and is cut to @width
 * columns; 0: no limit. */
void jp_figures_print(FILE *out, const struct jp_result *result, const char *mark,
		      unsigned int width);
