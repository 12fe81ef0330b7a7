/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef JP_RUN_OPTIONS_H
#define JP_RUN_OPTIONS_H

#include <stdint.h>

/* What the commands that run cases take alike: -o, --expected and --seed. */
struct jp_run_options {
	const char *command, *usage; /* its name and the text of --help */
	const char *output, *expected;
	uint64_t seed;
};

/* A random one, short enough to type again. */
uint64_t jp_run_seed(void);
/* Takes what getopt_long() found: 'o', 'e', 'n' (the seed), 'h', ':', or what is not known. 0, 1:
 * help was asked for, -1: usage was printed. */
int jp_run_option(struct jp_run_options *options, int found, char **argv);
/* Says @problem of '@what', then how it is used; -1. */
int jp_run_usage(const struct jp_run_options *options, const char *problem, const char *what);

#endif
