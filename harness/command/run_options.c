// SPDX-License-Identifier: GPL-2.0-only
#include "harness/command/run_options.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <unistd.h>

#include "harness/base/number.h"

uint64_t jp_run_seed(void)
{
	uint64_t seed;

	if (getrandom(&seed, sizeof(seed), 0) != sizeof(seed))
		seed = (uint64_t)getpid();
	return seed & UINT32_MAX;
}

int jp_run_option(struct jp_run_options *options, int found, char **argv)
{
	const char *text = optarg;

	switch (found) {
	case 'o':
		options->output = optarg;
		return 0;
	case 'e':
		options->expected = optarg;
		return 0;
	case 'n':
		if (jp_number_take(&text, 0, UINT64_MAX, &options->seed) && !*text)
			return 0;
		return jp_run_usage(options, "expected a number after --seed, found", optarg);
	case 'h':
		fputs(options->usage, stdout);
		return 1;
	case ':':
		return jp_run_usage(options, "expected a value after", argv[optind - 1]);
	default:
		return jp_run_usage(options, "unknown option", argv[optind - 1]);
	}
}

int jp_run_usage(const struct jp_run_options *options, const char *problem, const char *what)
{
	fprintf(stderr, "jitproof %s: %s '%s'\n%s", options->command, problem, what,
		options->usage);
	return -1;
}
