// SPDX-License-Identifier: GPL-2.0-only
#include "harness/command/run_options.h"

#include <errno.h>
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <unistd.h>

uint64_t jp_run_seed(void)
{
	uint64_t seed;

	if (getrandom(&seed, sizeof(seed), 0) != sizeof(seed))
		seed = (uint64_t)getpid();
	return seed & UINT32_MAX;
}

static bool whole_number(const char *text, uint64_t *value)
{
	char *end;

	if (text[0] < '0' || text[0] > '9')
		return false;
	errno = 0;
	*value = strtoull(text, &end, 0);
	return !errno && !*end;
}

int jp_run_option(struct jp_run_options *options, int found, char **argv)
{
	switch (found) {
	case 'o':
		options->output = optarg;
		return 0;
	case 'e':
		options->expected = optarg;
		return 0;
	case 'n':
		if (whole_number(optarg, &options->seed))
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
