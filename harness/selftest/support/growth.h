/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stddef.h>

#include "harness/selftest/support/check.h"

/* That @cost, in CPU time of as many of @what, grows with their number: ten times as many take ten
 * times as long, and a hundred times where each looks at all. */
static inline void check_growth(const char *what, double (*cost)(size_t count))
{
	enum { FEW = 2000, MANY = 10 * FEW };
	const double few = cost(FEW), many = cost(MANY);

	check(many < 40 * few, "%d %s take %.1f times as long as %d", MANY, what, many / few, FEW);
}
