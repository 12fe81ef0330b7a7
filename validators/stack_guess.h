/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/format/event.h"
#include "harness/judge/findings.h"
#include "harness/model/evidence/evidence.h"
#include "harness/model/oracle/oracle.h"

/* Returns the verdict of a sample if @truth were the stack that it must show. */
typedef enum jp_verdict (*jp_stack_fit)(void *context, const struct jp_truth_stack *truth);

/* Without a stack pointer the depth in a recursion is unknown: fills @truth with the stack that
 * fits @event best, of all that @guess (what is known of its place) allows. */
enum jp_stack_answer jp_stack_guess(const struct jp_evidence *evidence,
				    const struct jp_event *event, enum jp_method method,
				    struct jp_truth_guess guess, jp_stack_fit fit, void *context,
				    struct jp_truth_stack *truth);
