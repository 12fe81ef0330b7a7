/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/*
 * Why a stack is broken or a frame has no name: one id for one thing, for all that speak of causes.
 * docs/explain.md describes each.
 */
struct jp_cause {
	const char *id;
	const char *text;  /* a sentence: what is so */
	const char *study; /* the cases that show it; NULL: none do */
	enum jp_cause_costs {
		JP_COSTS_STACKS,
		JP_COSTS_NAMES,
		JP_COSTS_BOTH,
		JP_COSTS_SAMPLES, /* those that are not there */
	} costs;
};
extern const char *const jp_cause_costs_text[];

/* NULL: there is none called @id. */
const struct jp_cause *jp_cause_find(const char *id);
/* The @index-th in the order of the table, or NULL past the end. */
const struct jp_cause *jp_cause_at(size_t index);

/*
 * What validators, who know the truth of each sample, tell apart: a word for each. A control that
 * costs samples their stack or name is one, too.
 */
struct jp_cause_word {
	const char *word;
	const char *id;     /* of the cause; NULL: a capture alone tells none */
	const char *text;   /* what is so, finer than the id says it; or why no capture tells */
	const char *metric; /* of which alone it means this; NULL: of all others */
};

/* Those of validators' exceptions that cost a sample its stack or a frame its name, by their metric
 * with or without its method. */
bool jp_cause_is_of(const char *metric);
/* What @word means of @metric; NULL: there is no such word. Of exceptions that cost something, that
 * is a fault of the validator. */
const struct jp_cause_word *jp_cause_word(const char *metric, const char *word);
const struct jp_cause_word *jp_cause_word_at(size_t index);
/* The cause that an exception of @metric means by @word; NULL: none that a capture alone can tell,
 * or it costs nothing. */
const struct jp_cause *jp_cause_of_word(const char *metric, const char *word);
/* What an exception of @metric by @word is called before users: "depth-limit (max-stack)". */
const char *jp_cause_text(const char *metric, const char *word, char *text, size_t size);
/* Whether @asked, a word or an id, speaks of what an exception of @metric calls @word. */
bool jp_cause_names(const char *metric, const char *asked, const char *word);
/* Whether validators can find @cause at all: the truth knows what a workload's own code does. */
bool jp_cause_is_judged(const struct jp_cause *cause);
