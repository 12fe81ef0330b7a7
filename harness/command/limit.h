/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>

#include "harness/base/error.h"

/* --fail-if NAME>X[%]: the highest allowed value of a figure. All zero: no limit. */
struct jp_limit {
	char name[64];
	double highest; /* the highest allowed value: a percentage if @percent, else a count */
	bool percent;
};

/* Parses @text, the value of --fail-if. @value_name: the word for its NAME in the usage. Returns 0
 * or -EINVAL. */
int jp_limit_parse(struct jp_limit *limit, const char *value_name, const char *text,
		   struct jp_error *err);
/* Returns JP_EXIT_OK, or JP_EXIT_BAD and prints a message if @count, or its share of @total,
 * exceeds
 * @limit. */
int jp_limit_check(const struct jp_limit *limit, const char *command, const char *file,
		   double count, double total);
