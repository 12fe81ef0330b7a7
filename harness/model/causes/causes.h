/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Causes of broken stacks and missing names. Every command that reports causes uses the ids in this
 * table; docs/explain.md describes each cause. */
struct jp_cause {
	const char *id;
	const char *text;  /* a sentence that describes the cause */
	const char *study; /* cases of the test suite that show the cause, or NULL */
	enum jp_cause_costs {
		JP_COSTS_STACKS,
		JP_COSTS_NAMES,
		JP_COSTS_BOTH,
		JP_COSTS_SAMPLES, /* the cause costs samples */
	} costs;
};
extern const char *const jp_cause_costs_text[];

/* Returns the cause with @id, or NULL. */
const struct jp_cause *jp_cause_find(const char *id);
/* Returns cause @index of the table, or NULL past the end. */
const struct jp_cause *jp_cause_at(size_t index);

/* A word by which validators name the cause of an exception. The truth distinguishes more kinds of
 * causes than a capture alone does. The name of a control that costs samples their stack or name is
 * such a word, too. */
struct jp_cause_word {
	const char *word;
	const char *id;     /* id of the cause; NULL: a capture alone cannot show it */
	const char *text;   /* a text more exact than that of the cause; or the reason why a capture
			       alone cannot show the cause */
	const char *metric; /* the only metric for which this entry is valid; NULL: every other
			       metric */
};

/* Returns whether an exception of @metric, whose name may end with a method's, means that a sample
 * has no stack or a frame has no name. */
bool jp_cause_is_of_metric(const char *metric);
/* Returns the meaning of @word for @metric, or NULL. If jp_cause_is_of_metric(@metric), NULL is an
 * error of the validator, which uses an unknown word. */
const struct jp_cause_word *jp_cause_word(const char *metric, const char *word);
const struct jp_cause_word *jp_cause_word_at(size_t index);
/* Returns the cause of an exception of @metric with @word, or NULL if the exception costs no stack
 * or name, or if a capture alone cannot show its cause. */
const struct jp_cause *jp_cause_of_word(const char *metric, const char *word);
/* Formats the exception @word of @metric for users: "depth-limit (max-stack)". Returns @text. */
const char *jp_cause_text(const char *metric, const char *word, char *text, size_t size);
/* Returns whether the user's choice @name, a word or the id of a cause, selects an exception of
 * @metric with @word. */
bool jp_cause_names(const char *metric, const char *name, const char *word);
/* Returns whether validators can find @cause at all: the truth covers only a workload's own
 * code. */
bool jp_cause_is_judged(const struct jp_cause *cause);
