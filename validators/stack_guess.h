/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/format/event.h"
#include "harness/judge/findings.h"
#include "harness/model/evidence/evidence.h"
#include "harness/model/oracle/oracle.h"

/* Returns the verdict of a sample against the possible true stack @truth. */
typedef enum jp_verdict (*jp_stack_fit)(void *context, const struct jp_truth_stack *truth);

/* Fills @truth with the true stack that @fit rates best for @event, of all stacks that @guess
 * allows: without a stack pointer the depth in a recursion is unknown. Returns JP_STACK_FOUND, or
 * the answer of jp_truth_stack_guess(). */
enum jp_stack_answer jp_stack_guess_best_fit(const struct jp_evidence *evidence,
					     const struct jp_event *event, enum jp_method method,
					     struct jp_truth_guess guess, jp_stack_fit fit,
					     void *context, struct jp_truth_stack *truth);
