/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/judge/validator.h"
#include "harness/model/oracle/oracle.h"
#include "validators/stack_fault.h"

/* The stack that one method saw in one sample. */
struct jp_seen_stack {
	enum jp_method method;
	struct jp_unwound unwound;
	enum jp_verdict verdict;
	struct jp_stack_fault fault;
	/* Verdict behind JP_UNMAPPED, wrong or extra, which that would hide. */
	enum jp_verdict behind; /* else JP_UNMAPPED */
	struct jp_stack_fault behind_fault;
};

/* Returns whether PerfView calls the stack broken: its outermost module is none in which threads
 * start. */
bool jp_seen_by_perfview(const struct jp_view *view, const struct jp_event *event,
			 const struct jp_seen_stack *seen);
/* Reports one bad stack; the first of its kind with all details. Returns 0 or -ENOMEM. */
int jp_seen_except(struct jp_view *view, const struct jp_truth_stack *truth,
		   const struct jp_event *event, const char *metric,
		   const struct jp_seen_stack *seen);
