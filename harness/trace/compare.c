// SPDX-License-Identifier: GPL-2.0-only
#include "harness/trace/compare.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "harness/base/array.h"
#include "harness/model/oracle/oracle.h"

void jp_comparison_add(void *comparison, const struct jp_trace_insn *insn)
{
	struct jp_comparison *to = comparison;
	struct jp_trace_insn *added = jp_array_push(&to->insns, &to->count, &to->capacity);

	to->failed |= !added;
	if (added)
		*added = *insn;
}

static void compare_insn(struct jp_comparison *comparison, const struct jp_truth *truth,
			 const struct jp_trace_insn *insn, struct jp_truth_stack *stack)
{
	if (jp_truth_stack_at(truth, insn->pid, insn->tid, insn->time, 0, insn->ip, insn->sp,
			      JP_CHAIN, stack) != JP_STACK_FOUND ||
	    stack->nr_whole < 2) {
		comparison->elsewhere += insn->is_known && insn->emitted;
	} else if (!insn->is_known) {
		comparison->nr_unclaimed++;
	} else if (stack->frames[1] == insn->ret) {
		comparison->nr_right++;
	} else if (!comparison->nr_wrong++) {
		comparison->first_wrong = *insn;
		comparison->true_ret = stack->frames[1];
	}
}

int jp_comparison_make(struct jp_comparison *comparison, const char *path, struct jp_error *err)
{
	struct jp_truth *truth = jp_truth_load(path, err);
	struct jp_truth_stack stack = {0};
	int failed = 0;

	if (!truth)
		return -EINVAL;
	if (comparison->failed)
		failed = jp_fail(err, ENOMEM, "trace: out of memory");
	else if (truth->overflow)
		failed = jp_fail(err, ENOSPC,
				 "%s: it is full, and %" PRIu64 " records were lost: the workload "
				 "needs longer loops (a smaller --shorter) or fewer bursts",
				 path, truth->overflow);
	for (size_t i = 0; i < comparison->count && !failed; i++)
		compare_insn(comparison, truth, &comparison->insns[i], &stack);
	jp_truth_stack_free(&stack);
	jp_truth_free(truth);
	return failed;
}

void jp_comparison_print(const struct jp_comparison *comparison, FILE *out)
{
	const struct jp_trace_insn *insn = &comparison->first_wrong;

	fprintf(out,
		"truth: %" PRIu64 " right, %" PRIu64 " wrong, %" PRIu64
		" without a known caller, %" PRIu64 " in no function of the truth\n",
		comparison->nr_right, comparison->nr_wrong, comparison->nr_unclaimed,
		comparison->elsewhere);
	if (comparison->nr_wrong)
		fprintf(out,
			"the first wrong one: burst %u, time %" PRIu64 ", ip 0x%" PRIx64
			", sp 0x%" PRIx64 ": 0x%" PRIx64 ", expected 0x%" PRIx64 "\n",
			insn->burst, insn->time, insn->ip, insn->sp, insn->ret,
			comparison->true_ret);
}

void jp_comparison_json(const struct jp_comparison *comparison, struct jp_json *json)
{
	jp_json_object(json, "truth");
	jp_json_u64(json, "right", comparison->nr_right);
	jp_json_u64(json, "wrong", comparison->nr_wrong);
	jp_json_u64(json, "unclaimed", comparison->nr_unclaimed);
	jp_json_u64(json, "elsewhere", comparison->elsewhere);
	jp_json_end(json);
}

void jp_comparison_free(struct jp_comparison *comparison)
{
	free(comparison->insns);
}
