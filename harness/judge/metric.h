/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* What any case asks of a metric, whatever it expects of its figure. */
struct jp_role {
	/* What it must reach at least, or may be at most; else the evidence is too little. */
	enum jp_bound {
		JP_UNBOUND,
		JP_SOME_N,         /* @n: anything at all */
		JP_LEAST_N,        /* @n: the samples that the case needs */
		JP_LEAST_K,        /* @k: the same */
		JP_LEAST_DISTINCT, /* @k: the distinct places that the case needs */
		JP_MOST_UNJUDGED,  /* where the case expects nothing of it: a small share */
		JP_MOST_LOST,      /* the same: what is excused; more than it expects is an ERROR */
	} bound;
	const char *lead, *tail; /* its figure stands between them; no @lead: "NAME is " */
	const char *column;      /* of a scoreboard that shows its k of n, NULL: none */
	bool elsewhere; /* @k: samples that are not where the truth says that they must be */
	/* In a control, with what it left out added back: */
	bool fault;  /* must be 0 */
	bool steady; /* must not be less than before */
};

/* A rate of what every case has: where it counts nothing, nothing was looked at. */
extern const struct jp_role jp_counts_some;

/* A count @k of @n with its 95 % Wilson interval, or (n == 0 and !rate) a plain count @k. */
struct jp_metric {
	char name[48];
	bool rate;
	uint64_t k, n;
	double lo, hi;              /* rate: the interval; plain count: lo == hi == k */
	const struct jp_role *role; /* NULL: none */
	uint64_t excused;           /* JP_MOST_LOST: of @k, as many say nothing of the kernel */
};

struct jp_metric jp_metric_rate(const char *name, uint64_t k, uint64_t n);
struct jp_metric jp_metric_count(const char *name, uint64_t k);
