// SPDX-License-Identifier: GPL-2.0-only
/* Sorts the causes into a list for each question (enum jp_question). If the remedy of one cause
 * also repairs the samples of another cause, the other cause is a consequence: it follows the first
 * one in the list. */
#include "harness/explain/answers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/order.h"
#include "harness/base/wilson.h"

uint64_t jp_answers_cost(const struct jp_blamed *cause, enum jp_question question)
{
	switch (question) {
	case JP_WHY_STACKS_END:
		return cause->stacks;
	case JP_WHY_NAMES_LACK:
		return cause->names;
	default:
		return cause->cause->costs == JP_COSTS_SAMPLES ? cause->samples : 0;
	}
}

bool jp_answers_accuse(const struct jp_explanation *explanation, uint64_t samples, uint64_t absent)
{
	const uint64_t all = explanation->summary.samples + absent;
	double least, most;

	jp_wilson(jp_min(samples, all), all, &least, &most);
	return least >= JP_EXPLAIN_ACCUSES;
}

/* Returns how many samples of @repaired the remedy of @cause repairs. */
static uint64_t count_repairs(const struct jp_blamed *cause, const struct jp_cause *repaired)
{
	uint64_t repairs = 0;

	for (size_t i = 0; i < cause->nr_places; i++)
		if (cause->places[i]->repaired == repaired)
			repairs += cause->places[i]->repairs;
	return repairs;
}

static bool repairs_other_causes(const struct jp_blamed *cause)
{
	bool repairs = false;

	for (size_t i = 0; i < cause->nr_places; i++)
		repairs |= cause->places[i]->repaired != NULL;
	return repairs;
}

/* Makes @cause the consequence of a cause whose remedy leaves too few samples of @cause to accuse
 * it, if there is such a cause. */
static void find_cause_above(const struct jp_explanation *explanation, struct jp_blamed *cause)
{
	if (repairs_other_causes(cause))
		return;
	for (size_t i = 0; i < explanation->nr_accused; i++) {
		const struct jp_blamed *above = &explanation->causes[i];
		const uint64_t repairs = count_repairs(above, cause->cause);

		if (repairs && !jp_answers_accuse(explanation,
						  cause->samples - jp_min(repairs, cause->samples),
						  cause->absent))
			cause->below = above->cause;
	}
}

/* Stores the accused causes in @ordered, each consequence after the cause that it follows from. */
static void order_causes(struct jp_explanation *explanation, struct jp_blamed *ordered)
{
	const struct jp_blamed *causes = explanation->causes;
	size_t count = 0;

	for (size_t i = 0; i < explanation->nr_accused; i++) {
		if (causes[i].below)
			continue;
		ordered[count++] = causes[i];
		for (size_t j = 0; j < explanation->nr_accused; j++)
			if (causes[j].below == causes[i].cause)
				ordered[count++] = causes[j];
	}
	memcpy(explanation->causes, ordered, count * sizeof(*ordered));
}

static void insert_answer(struct jp_answers *answers, size_t at, const struct jp_blamed *cause)
{
	memmove(&answers->causes[at + 1], &answers->causes[at],
		(answers->count++ - at) * sizeof(*answers->causes));
	answers->causes[at] = cause;
}

/* Returns the cost of @cause without the samples that the remedy of another cause repairs, or whose
 * stack another cause breaks first. */
static uint64_t count_rest(const struct jp_explanation *explanation, const struct jp_blamed *cause,
			   enum jp_question question)
{
	const uint64_t cost = jp_answers_cost(cause, question);
	uint64_t repairs = question == JP_WHY_STACKS_END ? cause->seconds : 0;

	for (size_t i = 0; i < explanation->nr_accused && !repairs_other_causes(cause); i++)
		repairs = jp_max(repairs, count_repairs(&explanation->causes[i], cause->cause));
	return cost - jp_min(repairs, cost);
}

/* Returns the position at which to insert @cause into @answers: after its own cause if it is a
 * consequence, else by its cost. */
static size_t find_position(const struct jp_explanation *explanation,
			    const struct jp_answers *answers, const struct jp_blamed *cause,
			    enum jp_question question)
{
	const uint64_t rest = count_rest(explanation, cause, question);
	size_t at = 0;

	if (cause->below) {
		while (at < answers->count && answers->causes[at]->cause != cause->below)
			at++;
		return at < answers->count ? at + 1 : at;
	}
	while (at < answers->count &&
	       count_rest(explanation, answers->causes[at], question) >= rest)
		at++;
	return at;
}

static int find_answers(struct jp_explanation *explanation, enum jp_question question)
{
	struct jp_answers *answers = &explanation->answers[question];

	answers->causes = calloc(explanation->nr_accused + 1, sizeof(*answers->causes));
	if (!answers->causes)
		return -ENOMEM;
	/* Insert consequences in a second pass, when their causes are in place. */
	for (int consequences = 0; consequences < 2; consequences++)
		for (size_t i = 0; i < explanation->nr_accused; i++) {
			const struct jp_blamed *cause = &explanation->causes[i];

			if (!cause->below == !consequences &&
			    jp_answers_accuse(explanation, jp_answers_cost(cause, question),
					      cause->absent))
				insert_answer(answers,
					      find_position(explanation, answers, cause, question),
					      cause);
		}
	return 0;
}

int jp_answers_find(struct jp_explanation *explanation)
{
	struct jp_blamed *ordered = calloc(explanation->nr_accused + 1, sizeof(*ordered));
	int ret = 0;

	if (!ordered)
		return -ENOMEM;
	for (size_t i = 0; i < explanation->nr_accused; i++)
		find_cause_above(explanation, &explanation->causes[i]);
	order_causes(explanation, ordered);
	free(ordered);
	for (int question = 0; question < JP_QUESTIONS && !ret; question++)
		ret = find_answers(explanation, question);
	return ret;
}
