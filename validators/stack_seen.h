/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/judge/validator.h"
#include "harness/model/oracle/oracle.h"
#include "validators/stack_fault.h"

/* The stack that one method walked from one sample, and its verdict. */
struct jp_seen_stack {
	enum jp_method method;
	struct jp_unwound unwound;
	enum jp_verdict verdict;
	struct jp_stack_fault fault;
	enum jp_verdict hidden; /* wrong or extra, if JP_UNMAPPED hides that; else JP_UNMAPPED */
	struct jp_stack_fault hidden_fault;
};

/* Returns whether PerfView calls the stack broken: its outermost frame is in no file. */
bool jp_seen_is_broken_in_perfview(const struct jp_view *view, const struct jp_event *event,
				   const struct jp_seen_stack *seen);
/* Counts a bad stack as an exception of @metric, and describes the first of its kind. Returns 0 or
 * -ENOMEM. */
int jp_seen_report(struct jp_view *view, const struct jp_truth_stack *truth,
		   const struct jp_event *event, const char *metric,
		   const struct jp_seen_stack *seen);
