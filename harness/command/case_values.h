/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdio.h>

/* Functions that print the possible values of options and operands (print_values of struct
 * jp_option). They report no errors, because a shell completion cannot show them. */

/* Prints the names of all cases. */
void jp_print_cases(FILE *out);
/* Prints a pattern for each study (a group of cases), then the names of all cases. */
void jp_print_case_globs(FILE *out);
void jp_print_scenes(FILE *out);
void jp_print_adapters(FILE *out);
/* Prints "jitproof" and the names of the adapters. */
void jp_print_score_profilers(FILE *out);
