/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* Values of options and operands (print_values of struct jp_option). No function here reports an
 * error, as a shell has no place for it. */

/* Prints the cases. */
void jp_print_cases(void);
/* Prints a pattern for each study, then the cases. */
void jp_print_case_globs(void);
void jp_print_scenes(void);
void jp_print_adapters(void);
/* Prints "jitproof" and the adapters. */
void jp_print_score_profilers(void);
