/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdio.h>

#include "harness/outcome/outcome.h"

/* Prints the tables of the studies in @results as comments: of their own metrics, or of broken
 * stacks for each method. @results: in the order of case names. */
void jp_table_print(FILE *out, const struct jp_cases *cases, const struct jp_result *results,
		    size_t count);
