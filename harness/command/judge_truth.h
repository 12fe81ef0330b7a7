/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef JP_JUDGE_TRUTH_H
#define JP_JUDGE_TRUTH_H

/* judge --truth; argv[0] is "judge". The exit status. */
int jp_judge_truth(int argc, char **argv);

#endif
