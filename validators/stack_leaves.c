// SPDX-License-Identifier: GPL-2.0-only
#include "validators/stack_leaves.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "harness/model/oracle/path_position.h"

/* Highest share of a function's samples at an instruction that runs once per call. */
static const double ONCE = 0.5;

struct jp_stack_leaf jp_stack_leaf_find(const struct jp_truth_stack *truth)
{
	const struct jp_truth_path *path = truth->activation->path;
	const struct jp_truth_code *code = path->functions[truth->depth];
	/* A function that jumps to the next one instead of calling it has no return address. */
	const bool is_caller = truth->depth + 1 < path->depth && !jp_truth_is_tail_call(code);

	return (struct jp_stack_leaf){
		.is_caller = is_caller,
		.returned = is_caller && truth->offset == jp_truth_return_insn(code)->offset,
		.begins = !truth->offset,
	};
}

static void count_sample_once(struct jp_stack_once *once, enum jp_verdict verdict,
			      bool is_predicted, uint64_t weight)
{
	once->nr_samples += weight;
	once->verdicts[verdict] += weight;
	once->nr_predicted += is_predicted ? weight : 0;
}

void jp_stack_leaves_add(struct jp_stack_leaves *leaves, struct jp_stack_leaf leaf,
			 enum jp_verdict verdict, bool predicted, uint64_t weight)
{
	if (verdict < JP_GAP)
		return;
	leaves->nr_good += weight;
	leaves->nr_callers += leaf.is_caller ? weight : 0;
	if (leaf.returned)
		count_sample_once(&leaves->returned, verdict, predicted, weight);
	if (leaf.begins)
		count_sample_once(&leaves->begins, verdict, predicted, weight);
}

static int judge_sample_once(const struct jp_stack_once *once, uint64_t total,
			     enum jp_verdict new_verdict, const char *description,
			     struct jp_stack_counts *counts, struct jp_view *view)
{
	const struct jp_metric share = jp_metric_rate("", once->nr_samples, total);

	if (!total || share.lo <= ONCE)
		return 0;
	counts->methods[view->evidence->declared.method].nr_predicted -= once->nr_predicted;
	for (enum jp_verdict old_verdict = JP_GAP; old_verdict <= JP_EXACT; old_verdict++) {
		const uint64_t weight = once->verdicts[old_verdict];
		struct jp_exception *exception =
			weight ? jp_stack_counts_change(counts, view, old_verdict, new_verdict,
							weight)
			       : NULL;

		if (weight && !exception)
			return -ENOMEM;
		if (exception && exception->count == weight)
			snprintf(exception->example, sizeof(exception->example),
				 "%" PRIu64 " of %" PRIu64 " samples %s", once->nr_samples, total,
				 description);
	}
	return 0;
}

int jp_stack_leaves_judge(const struct jp_stack_leaves *leaves, struct jp_stack_counts *counts,
			  struct jp_view *view)
{
	return judge_sample_once(&leaves->returned, leaves->nr_callers, JP_HOLE,
				 "in functions that call another are at the return address of that "
				 "call: the innermost frame is left out",
				 counts, view)
		       ?: judge_sample_once(
				  &leaves->begins, leaves->nr_good, JP_WRONG,
				  "are at a function's first address, where no thread stays",
				  counts, view);
}
