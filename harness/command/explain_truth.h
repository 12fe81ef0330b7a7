/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef JP_EXPLAIN_TRUTH_H
#define JP_EXPLAIN_TRUTH_H

#include <stdbool.h>

/* Whether `explain` is asked whether it is right, by a truth. */
bool jp_explain_truth_asked(int argc, char **argv);
/* Explains, and holds each cause against what validators find with the truth. The exit status. */
int jp_explain_truth(int argc, char **argv);

#endif
