/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/judge/validator.h"
#include "harness/model/oracle/oracle.h"
#include "validators/stack_counts.h"

/*
 * Where the innermost frames of good stacks are, in streams by addresses: instructions that run
 * once a call have few samples. Stacks that lack their innermost frame are all where a call returns
 * to; those of a profiler that tells of functions alone, where these begin.
 */
struct jp_stack_leaf {
	bool above;    /* in a function that calls another emitted one */
	bool returned; /* where that returns to */
	bool begins;   /* where its own function begins */
};

/* Good ones at such instructions. */
struct jp_stack_once {
	uint64_t verdicts[JP_VERDICTS], all, predicted;
};

struct jp_stack_leaves {
	uint64_t good, above;
	struct jp_stack_once returned, begins; /* of @above, of @good */
};

struct jp_stack_leaf jp_stack_leaf_of(const struct jp_truth_stack *truth);
/* @weight samples of that @verdict; @predicted: they were counted so. */
void jp_stack_leaves_add(struct jp_stack_leaves *leaves, struct jp_stack_leaf leaf,
			 enum jp_verdict verdict, bool predicted, uint64_t weight);
/* Those that are too many are no good ones: @counts has another verdict of them. 0 or -ENOMEM. */
int jp_stack_leaves_judge(const struct jp_stack_leaves *leaves, struct jp_stack_counts *counts,
			  struct jp_view *view);
