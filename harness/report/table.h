/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdio.h>

#include "harness/outcome/outcome.h"

/* Prints the tables of the studies in @results: of their own metrics, or of broken stacks for each
 * method. @results: in the order of case names. @mark: the start of every line ("#"). @width: of
 * the longest line; columns that do not fit stand below, and a table with a wider column becomes a
 * list. */
void jp_table_print(FILE *out, const struct jp_cases *cases, const struct jp_result *results,
		    size_t count, const char *mark, unsigned int width);
