/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Requirements of a metric that are the same in every case, independent of the expected value. */
struct jp_role {
	/* Least value that must be reached, or largest allowed value; otherwise the evidence is too
	 * little. */
	enum jp_bound {
		JP_UNBOUND,
		JP_SOME_N,         /* @n is at least 1 */
		JP_LEAST_N,        /* @n is at least the number of samples that the case needs */
		JP_LEAST_K,        /* @k is at least the number of samples that the case needs */
		JP_LEAST_DISTINCT, /* @k is at least the number of distinct places that the case
				      needs */
		JP_MOST_UNJUDGED,  /* without an expectation: @k is a small share */
		JP_MOST_LOST, /* without an expectation: @k is at most the excused number; more than
				 expected is an ERROR */
	} bound;
	const char *lead, *tail; /* texts before and after its value; @lead NULL: "NAME is " */
	const char *column;      /* column of the scoreboard that shows k of n; NULL: none */
	bool elsewhere; /* @k counts samples outside of the place where the truth puts them */
	/* Requirements in a control after its omissions were added back: */
	bool fault;  /* must be 0 */
	bool steady; /* must not decrease */
};

/* A rate that every case has: if its @n is 0, nothing was judged. */
extern const struct jp_role jp_counts_some;

/* A count @k of @n with its 95 % Wilson interval, or (n == 0 and !rate) a plain count @k. */
struct jp_metric {
	char name[48];
	bool rate;
	uint64_t k, n;
	double lo, hi;              /* rate: limits of the interval; plain count: lo == hi == k */
	const struct jp_role *role; /* NULL: none */
	uint64_t excused;           /* JP_MOST_LOST: part of @k that is excused */
};

struct jp_metric jp_metric_rate(const char *name, uint64_t k, uint64_t n);
struct jp_metric jp_metric_count(const char *name, uint64_t k);
