/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdio.h>

#include "harness/outcome/outcome.h"

/* Writes the version line of KTAP 1 and the plan of @plan tests. */
void jp_ktap_head(FILE *out, size_t plan);
/* Writes the diagnostics of test @number, then its result line. */
void jp_ktap_result(FILE *out, size_t number, const struct jp_result *result);
/* Writes @text as diagnostics, each line after @prefix, such that no text can end or imitate a
 * line. */
void jp_ktap_comment(FILE *out, const char *prefix, const char *text);
/* Writes the number of tests of each outcome as a comment. @counts: indexed by outcome. */
void jp_ktap_totals(FILE *out, const size_t counts[JP_OUTCOMES]);
