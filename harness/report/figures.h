/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdio.h>

#include "harness/outcome/outcome.h"

/* Prints each account after @mark: its classes, largest first, and their sum. Sorts the classes.
 * Lines of more than @width columns, unless 0, break between classes. */
void jp_books_print(FILE *out, const struct jp_books *books, const char *mark, unsigned int width);
/* Prints each metric of @result that counted something or has an expectation: the count, the 95 %
 * interval of a rate, and the expectation; each line after @mark, cut to @width columns unless 0.
 */
void jp_figures_print(FILE *out, const struct jp_result *result, const char *mark,
		      unsigned int width);
