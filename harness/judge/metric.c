// SPDX-License-Identifier: GPL-2.0-only
#include "harness/judge/metric.h"

#include <stdio.h>

#include "harness/base/wilson.h"

const struct jp_role jp_counts_some = {.bound = JP_SOME_N};

struct jp_metric jp_metric_rate(const char *name, uint64_t k, uint64_t n)
{
	struct jp_metric metric = {.rate = true, .k = k, .n = n};

	snprintf(metric.name, sizeof(metric.name), "%s", name);
	jp_wilson(k, n, &metric.lo, &metric.hi);
	return metric;
}

struct jp_metric jp_metric_count(const char *name, uint64_t k)
{
	struct jp_metric metric = {.k = k, .lo = (double)k, .hi = (double)k};

	snprintf(metric.name, sizeof(metric.name), "%s", name);
	return metric;
}
