/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/judge/validator.h"
#include "harness/model/oracle/oracle.h"
#include "validators/stack_fault.h"

/* What one method observed of one sample. */
struct jp_seen_stack {
	enum jp_method method;
	struct jp_unwound unwound;
	enum jp_verdict verdict;
	struct jp_stack_fault fault;
	/* Unmapped, and wrong or extra besides: that verdict alone would hide it. */
	enum jp_verdict behind; /* else JP_UNMAPPED */
	struct jp_stack_fault behind_fault;
};

/* PerfView calls a stack broken when its outermost module is none that threads start in. */
bool jp_seen_by_perfview(const struct jp_view *view, const struct jp_event *event,
			 const struct jp_seen_stack *seen);
/* Records one bad stack; the first of its kind with everything that someone who doubts it would
 * ask for. 0 or -ENOMEM. */
int jp_seen_except(struct jp_view *view, const struct jp_truth_stack *truth,
		   const struct jp_event *event, const char *metric,
		   const struct jp_seen_stack *seen);
