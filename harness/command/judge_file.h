/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef JP_JUDGE_FILE_H
#define JP_JUDGE_FILE_H

#include <stdbool.h>
#include <stdio.h>

/* Of `jitproof judge` as a whole. */
void jp_judge_usage(FILE *out);
/* `jitproof judge [--json] [--fail-if METRIC>X[%]] [--unwind] [--elf DIR] FILE` where FILE is a
 * perf.data without truth. Returns the exit status: 0 the whole file was read, 99 it was not, 1
 * only where --fail-if holds. @confined: it is read in a process without rights
 * (harness/base/confine.h); else in this one. */
int jp_judge_file(int argc, char **argv, bool confined);

#endif
