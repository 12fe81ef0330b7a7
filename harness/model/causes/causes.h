/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef JP_CAUSES_H
#define JP_CAUSES_H

#include <stddef.h>

/*
 * Why a stack is broken or a frame has no name: one id for one thing, for all that speak of causes.
 * docs/explain.md describes each.
 */
struct jp_cause {
	const char *id;
	const char *text;  /* a sentence: what is so */
	const char *study; /* the cases that show it; NULL: none do */
};

/* NULL: there is none called @id. */
const struct jp_cause *jp_cause_find(const char *id);
/* The @index-th in the order of the table, or NULL past the end. */
const struct jp_cause *jp_cause_at(size_t index);

#endif
