/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdio.h>

/* Values of options and operands (print_values of struct jp_option). These functions report no
 * errors, because a shell completion cannot show them. */

/* Prints the cases. */
void jp_print_cases(FILE *out);
/* Prints a pattern for each study, then the cases. */
void jp_print_case_globs(FILE *out);
void jp_print_scenes(FILE *out);
void jp_print_adapters(FILE *out);
/* Prints "jitproof" and the adapters. */
void jp_print_score_profilers(FILE *out);
