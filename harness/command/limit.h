/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>

#include "harness/base/error.h"

/* --fail-if NAME>X[%]: what a figure may be at the most. All zero: nothing is asked. */
struct jp_limit {
	char name[64];
	double above; /* percent, or a count */
	bool percent;
};

/* @text is what stands behind --fail-if; @what: what usage calls its NAME. 0 or -EINVAL. */
int jp_limit_parse(struct jp_limit *limit, const char *what, const char *text,
		   struct jp_error *err);
/* JP_EXIT_OK; JP_EXIT_BAD where @count, or its share of @of, exceeds @limit: said on stderr. */
int jp_limit_verdict(const struct jp_limit *limit, const char *command, const char *file,
		     double count, double of);
