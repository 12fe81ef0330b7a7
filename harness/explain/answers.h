/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/explain/blame.h"
#include "harness/format/perfdata/summary.h"

/* A cause is accused if it costs at least this share of all samples, with 95 % certainty; otherwise
 * it is only a note, because samples in starts, exits and prologues always occur. */
#define JP_EXPLAIN_ACCUSES 0.02

/* The questions that an explanation answers. */
enum jp_question { JP_WHY_STACKS_END, JP_WHY_NAMES_LACK, JP_WHY_SAMPLES_LACK, JP_QUESTIONS };

/* Why stacks in a perf.data file are broken, names missing and samples lacking. */
struct jp_explanation {
	struct jp_perfdata_summary summary;
	struct jp_blames blames;
	struct jp_blamed *causes; /* causes by cost, largest first */
	size_t nr_causes;
	size_t nr_accused; /* how many of @causes, from the first, are accused; the others are notes
			    */
	/* The accused causes that answer each question, ordered by cost; a cause that is the
	 * consequence of another follows it. */
	struct jp_answers {
		const struct jp_blamed **causes;
		size_t count;
	} answers[JP_QUESTIONS];
	/* Samples with a dump of another machine or a 32-bit task, whose stacks cannot be
	 * walked. */
	uint64_t unknown_stacks;
};

/* Returns the number of samples of @cause that concern @question. */
uint64_t jp_answers_cost(const struct jp_blamed *cause, enum jp_question question);
/* Returns whether a cause that affects @samples samples is accused. @absent: the part of @samples
 * that the file lacks. */
bool jp_answers_accuse(const struct jp_explanation *explanation, uint64_t samples, uint64_t absent);
/* Orders the accused causes of @explanation, and finds those that answer each question. Returns 0
 * or -ENOMEM. */
int jp_answers_find(struct jp_explanation *explanation);
