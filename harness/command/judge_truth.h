/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef JP_JUDGE_TRUTH_H
#define JP_JUDGE_TRUTH_H

#include <stdbool.h>

/* Whether `judge` is asked to hold a perf.data against a truth. */
bool jp_judge_truth_asked(int argc, char **argv);
/* Does so; argv[0] is "judge". The exit status. */
int jp_judge_truth(int argc, char **argv);

#endif
