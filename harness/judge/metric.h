/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* What every case demands of a metric, whatever it expects of its value. */
struct jp_role {
	/* Least value that must be reached, or most that is allowed; else there is too little
	 * evidence. */
	enum jp_bound {
		JP_UNBOUND,
		JP_SOME_N,         /* @n: anything at all */
		JP_LEAST_N,        /* @n: the samples that the case needs */
		JP_LEAST_K,        /* @k: the samples that the case needs */
		JP_LEAST_DISTINCT, /* @k: the distinct places that the case needs */
		JP_MOST_UNJUDGED,  /* without an expectation: a small share */
		JP_MOST_LOST, /* without an expectation: the excused ones; more than expected is an
				 ERROR */
	} bound;
	const char *lead, *tail; /* texts around its value; no @lead: "NAME is " */
	const char *column;      /* column of the scoreboard that shows k of n; NULL: none */
	bool elsewhere;          /* @k: samples outside of where the truth puts them */
	/* In a control, with its omissions added back: */
	bool fault;  /* must be 0 */
	bool steady; /* must not decrease */
};

/* A rate that every case has: if it counts nothing, nothing was judged. */
extern const struct jp_role jp_counts_some;

/* A count @k of @n with its 95 % Wilson interval, or (n == 0 and !rate) a plain count @k. */
struct jp_metric {
	char name[48];
	bool rate;
	uint64_t k, n;
	double lo, hi;              /* rate: the interval; plain count: lo == hi == k */
	const struct jp_role *role; /* NULL: none */
	uint64_t excused;           /* JP_MOST_LOST: number of @k that is excused */
};

struct jp_metric jp_metric_rate(const char *name, uint64_t k, uint64_t n);
struct jp_metric jp_metric_count(const char *name, uint64_t k);
