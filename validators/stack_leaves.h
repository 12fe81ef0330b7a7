/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/judge/validator.h"
#include "harness/model/oracle/oracle.h"
#include "validators/stack_counts.h"

/* The place of the innermost frame of a good stack, in a stream with addresses. Instructions that
 * run once per call have few samples. If a profiler omits innermost frames, all stacks begin at
 * return addresses; if it stores only functions, they begin at first addresses. */
struct jp_stack_leaf {
	bool above;    /* in a function that calls another emitted function */
	bool returned; /* the innermost address is the return address of that call */
	bool begins;   /* the innermost address is the first address of its function */
};

/* Number of samples with good stacks at instructions that run once per call. */
struct jp_stack_once {
	uint64_t verdicts[JP_VERDICTS], all, predicted;
};

struct jp_stack_leaves {
	uint64_t good, above;
	struct jp_stack_once returned, begins; /* among @above; among @good */
};

/* Returns the place of the innermost frame of @truth. */
struct jp_stack_leaf jp_stack_leaf_of(const struct jp_truth_stack *truth);
/* Counts @weight samples of @verdict if the verdict is good. @predicted: they have the predicted
 * stack. */
void jp_stack_leaves_add(struct jp_stack_leaves *leaves, struct jp_stack_leaf leaf,
			 enum jp_verdict verdict, bool predicted, uint64_t weight);
/* Changes the verdict of the counted leaves in @counts if they are too many. Returns 0 or
 * -ENOMEM. */
int jp_stack_leaves_judge(const struct jp_stack_leaves *leaves, struct jp_stack_counts *counts,
			  struct jp_view *view);
