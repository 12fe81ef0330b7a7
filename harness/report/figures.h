/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdio.h>

#include "harness/outcome/outcome.h"

/* Describes the lines of jp_figures_print(). */
#define JP_FIGURES_HEAD "Figures: count, total; expectation: what is counted (95 % interval)"

/* Prints each account of @accounts (a total and the classes that add up to it): its classes,
 * largest first, and their sum. Sorts the classes. Each line starts with @mark. Breaks lines of
 * more than
 * @width columns between classes; 0: never. */
void jp_accounts_print(FILE *out, const struct jp_accounts *accounts, const char *mark,
		       unsigned int width);
/* Prints what each class of @accounts contains, once. Each line starts with @mark and is cut
 * to @width columns; 0: no limit. */
void jp_accounts_explain(FILE *out, const struct jp_accounts *accounts, const char *mark,
			 unsigned int width);
/* Returns what @metric counts, such as "broken stacks", or "" if no text is registered. Texts are
 * registered without the method at the end, and with N for a number. */
const char *jp_figures_text(const char *metric);
/* Prints each metric of @result that counted something or has an expectation: the count, the
 * expectation, what is counted, and the 95 % interval of a rate. Each figure starts with @mark, and
 * breaks into lines of @width columns; 0: no limit. */
void jp_figures_print(FILE *out, const struct jp_result *result, const char *mark,
		      unsigned int width);
