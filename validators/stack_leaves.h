/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/judge/validator.h"
#include "harness/model/oracle/oracle.h"
#include "validators/stack_counts.h"

/* Where the innermost frame of a stack with a good verdict lies, in a stream with addresses. Few
 * samples are at instructions that run once per call. If most stacks begin at such instructions,
 * the profiler omits innermost frames (stacks begin at return addresses) or stores only functions
 * (stacks begin at first addresses). */
struct jp_stack_leaf {
	bool is_caller; /* in a function that calls another emitted function */
	bool returned;  /* the innermost address is the return address of that call */
	bool begins;    /* the innermost address is the first address of its function */
};

/* Number of samples with good stacks at instructions that run once per call. */
struct jp_stack_once {
	uint64_t verdicts[JP_VERDICTS], nr_samples, nr_predicted;
};

struct jp_stack_leaves {
	uint64_t nr_good, nr_callers;
	struct jp_stack_once returned, begins; /* parts of @nr_callers and of @nr_good */
};

/* Returns the place of the innermost frame of @truth. */
struct jp_stack_leaf jp_stack_leaf_find(const struct jp_truth_stack *truth);
/* Counts @weight samples whose innermost frame is @leaf, if @verdict is good. @predicted: they have
 * the predicted stack. */
void jp_stack_leaves_add(struct jp_stack_leaves *leaves, struct jp_stack_leaf leaf,
			 enum jp_verdict verdict, bool predicted, uint64_t weight);
/* Changes, in @counts, the verdict of the samples at instructions that run once per call, if they
 * are too many. Returns 0 or -ENOMEM. */
int jp_stack_leaves_judge(const struct jp_stack_leaves *leaves, struct jp_stack_counts *counts,
			  struct jp_view *view);
