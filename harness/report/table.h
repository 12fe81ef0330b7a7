/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdio.h>

#include "harness/outcome/outcome.h"

/* Prints a table for each study in @results: of the study's own metrics, or of broken stacks for
 * each method. @results: in the order of case names. @mark: the start of every line ("#"). @width:
 * largest width of a line. Columns that do not fit follow below the others; a table with a column
 * that is wider than a line becomes a list. */
void jp_table_print(FILE *out, const struct jp_cases *cases, const struct jp_result *results,
		    size_t count, const char *mark, unsigned int width);
