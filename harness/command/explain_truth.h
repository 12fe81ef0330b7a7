/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef JP_EXPLAIN_TRUTH_H
#define JP_EXPLAIN_TRUTH_H

/* explain --truth: explains, and holds each cause against what validators find with the truth. The
 * exit status. */
int jp_explain_truth(int argc, char **argv);

#endif
