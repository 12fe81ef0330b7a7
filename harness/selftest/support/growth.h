/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stddef.h>

#include "harness/selftest/support/check.h"

/* Returns @count zeroed items of @size bytes. */
static inline void *allocate(size_t count, size_t size)
{
	void *made = calloc(count, size);

	if (!made)
		exit(99);
	return made;
}

/* Checks that CPU time @cost grows about linearly with the number of @what. Ten times as many cost
 * ten times as much, or a hundred times if each item is compared with all others. */
static inline void check_growth(const char *what, double (*cost)(size_t count))
{
	enum { FEW = 2000, MANY = 10 * FEW };
	const double few = cost(FEW), many = cost(MANY);

	check(many < 40 * few, "%d %s take %.1f times as long as %d", MANY, what, many / few, FEW);
}
