/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef JP_METRIC_H
#define JP_METRIC_H

#include <stdbool.h>
#include <stdint.h>

/* A count @k of @n with its 95 % Wilson interval, or (n == 0 and !rate) a plain count @k. */
struct jp_metric {
	char name[48];
	bool rate;
	uint64_t k, n;
	double lo, hi; /* rate: the interval; plain count: lo == hi == k */
};

struct jp_metric jp_metric_rate(const char *name, uint64_t k, uint64_t n);
struct jp_metric jp_metric_count(const char *name, uint64_t k);
/* 95 % Wilson score interval of k of n; n == 0 gives [0, 1]. */
void jp_wilson(uint64_t k, uint64_t n, double *lo, double *hi);

#endif
