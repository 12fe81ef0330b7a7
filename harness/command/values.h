/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdio.h>

/* Functions that print registered names as possible values of options and operands (print_values of
 * struct jp_option). */

/* Prints the workloads with their descriptions. */
void jp_print_workloads(FILE *out);
/* Prints the publishers with their descriptions and faults. */
void jp_print_publishers(FILE *out);
void jp_print_facts(FILE *out);
void jp_print_lint_rules(FILE *out);
