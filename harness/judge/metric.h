/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Requirements that a metric must meet in every case, whatever value the case expects. */
struct jp_role {
	/* Bound on the metric's value. If it is violated, the case does not have enough
	 * evidence. */
	enum jp_bound {
		JP_UNBOUND,
		JP_SOME_N,  /* @n must be at least 1 */
		JP_LEAST_N, /* @n must be at least the number of samples that the case needs */
		JP_LEAST_K, /* @k must be at least the number of samples that the case needs */
		JP_ALL_N,   /* @k must be @n */
		JP_LEAST_DISTINCT, /* @k must be at least the number of distinct places that the
				      case needs */
		JP_MOST_UNJUDGED,  /* if the case does not expect a value: @k must be a small share
				      of @n */
		JP_MOST_LOST, /* if the case does not expect a value: @k must be at most the excused
				 number; if it does, a larger value is an ERROR */
	} bound;
	const char *serves;      /* only cases that expect this metric need the bound; NULL: all */
	const char *lead, *tail; /* texts before and after the metric's value in messages; @lead
				    NULL: "NAME is " */
	const char *column;      /* column of the scoreboard that shows k of n; NULL: none */
	const char *faults;      /* column of the scoreboard to which each exception of the metric
				    that nothing allows adds a fault; NULL: none */
	bool is_elsewhere; /* @k counts samples outside of the code where the truth expects them */
	bool foreign;      /* these are of other processes, which a capture of all CPUs contains */
	/* Requirements of the second judgement of a control, which also has the left-out events: */
	bool fault;  /* @k must be 0 */
	bool steady; /* @k must not decrease */
};

/* Role of a rate that every case has: if its @n is 0, nothing was judged. */
extern const struct jp_role jp_counts_some;

/* A rate: @k of @n things, with its 95 % Wilson interval. Or a plain count @k, if !@rate; then @n
 * is 0. */
struct jp_metric {
	char name[48];
	bool rate;
	uint64_t k, n;
	double lo, hi;              /* rate: limits of the interval; plain count: lo == hi == k */
	const struct jp_role *role; /* NULL: none */
	uint64_t excused;           /* JP_MOST_LOST: part of @k that is excused */
};

/* Describes what a metric counts, for output. Registered as JP_METRIC_TEXT. @name has no METHOD at
 * its end, and N in place of a number. */
struct jp_metric_text {
	const char *name, *text;
};

struct jp_metric jp_metric_rate(const char *name, uint64_t k, uint64_t n);
struct jp_metric jp_metric_count(const char *name, uint64_t k);
