/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stddef.h>

#include "harness/base/clock.h"
#include "harness/selftest/support/check.h"

/* Returns @count zeroed items of @size bytes. */
static inline void *allocate(size_t count, size_t size)
{
	void *memory = calloc(count, size);

	if (!memory)
		exit(99);
	return memory;
}

static uint64_t cost; /* CPU time, in ns, between start_cost() and end_cost() */

static inline void start_cost(void)
{
	cost = jp_clock_thread_cpu();
}

static inline void end_cost(void)
{
	cost = jp_clock_thread_cpu() - cost;
}

/* Checks that the cost of @run grows about linearly with the number of @items: ten times as many
 * cost ten times as much, or a hundred times if each item is compared with all others. */
static inline void check_growth(const char *items, void (*run)(size_t count))
{
	enum { FEW = 2000, MANY = 10 * FEW };
	double few_owners;

	run(FEW);
	few_owners = (double)cost;
	run(MANY);
	check((double)cost < 40 * few_owners, "%d %s take %.1f times as long as %d", MANY, items,
	      (double)cost / few_owners, FEW);
}
