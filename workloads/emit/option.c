// SPDX-License-Identifier: GPL-2.0-only
#include "workloads/emit/option.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/number.h"

static int take_number(const struct jp_option *option, const char *arg, const char *value)
{
	unsigned most = option->most ? option->most : UINT_MAX;
	uint64_t number;

	if (jp_number(value, option->least, most, &number)) {
		*option->number = number;
		return 1;
	}
	fprintf(stderr, "jitproof workload: '%s': expected a number from %u to %u\n", arg,
		option->least, most);
	return -EINVAL;
}

static int take_word(const struct jp_option *option, const char *arg, const char *value)
{
	for (unsigned i = 0; option->words[i]; i++) {
		if (!strcmp(value, option->words[i])) {
			*option->number = i;
			return 1;
		}
	}
	fprintf(stderr, "jitproof workload: '%s': expected one of", arg);
	for (unsigned i = 0; option->words[i]; i++)
		fprintf(stderr, " %s", option->words[i]);
	fprintf(stderr, "\n");
	return -EINVAL;
}

static int take(const struct jp_option *option, const char *arg)
{
	size_t length;

	if (option->take)
		return option->take(option->context, arg);
	length = strlen(option->name);
	if (strncmp(arg, option->name, length) || (option->flag && arg[length]))
		return 0;
	if (option->text) {
		*option->text = arg[length] ? arg + length : *option->text;
		return arg[length] != 0;
	}
	if (!option->flag)
		return option->words ? take_word(option, arg, arg + length)
				     : take_number(option, arg, arg + length);
	*option->flag = true;
	return 1;
}

int jp_option_take(const struct jp_option *options, const char *arg)
{
	int taken = 0;

	for (; options && jp_option_is(options) && !taken; options++)
		taken = take(options, arg);
	return taken;
}

int jp_options(int argc, char **argv, const struct jp_option *options)
{
	for (int i = 1; i < argc; i++) {
		int taken = jp_option_take(options, argv[i]);

		if (!taken)
			fprintf(stderr, "jitproof workload %s: unknown option '%s' (see --help)\n",
				argv[0], argv[i]);
		if (taken <= 0)
			return 2;
	}
	return 0;
}
