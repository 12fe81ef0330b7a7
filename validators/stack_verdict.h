/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdint.h>

#include "harness/format/event.h"
#include "harness/judge/findings.h"
#include "harness/model/evidence/evidence.h"
#include "harness/model/oracle/oracle.h"
#include "harness/model/unwind/unwind.h"

/* Returns the verdict of the observed stack @recorded_ips (docs/reading-results.md), except
 * unjudged and unmapped, which the caller decides. All stacks are innermost first. @must: the
 * frames that the method must show. @complete: the sampled address and every caller up to the root.
 * Neither
 * @must nor
 * @complete may be empty. */
enum jp_verdict jp_stack_verdict(const uint64_t *recorded_ips, uint32_t nr_seen,
				 const uint64_t *must, uint32_t nr_must, const uint64_t *complete,
				 uint32_t nr_whole);
/* Returns how many innermost frames of @recorded_ips equal those of @must. */
uint32_t jp_stack_count_same_frames(const uint64_t *recorded_ips, uint32_t nr_seen,
				    const uint64_t *must, uint32_t nr_must);
/* Returns whether @unwound is the stack that the truth predicts for @method, or the innermost part
 * of that stack up to a limit: the largest permitted chain, or the end of the dump (@dumped bytes
 * from @sp on). */
bool jp_stack_is_predicted(const struct jp_truth_stack *truth, enum jp_method method,
			   const struct jp_unwound *unwound, uint64_t sp, uint64_t dumped);

/* Returns the verdict of a sample against the possible true stack @truth. */
typedef enum jp_verdict (*jp_stack_fit)(void *context, const struct jp_truth_stack *truth);

/* Fills @truth with the true stack that @fit rates best for @event, of all stacks that @guess
 * allows: without a stack pointer the depth in a recursion is unknown. Returns JP_STACK_FOUND, or
 * the answer of jp_truth_stack_guess(). */
enum jp_stack_answer jp_stack_guess_best_fit(const struct jp_evidence *evidence,
					     const struct jp_event *event, enum jp_method method,
					     struct jp_truth_guess guess, jp_stack_fit fit,
					     void *context, struct jp_truth_stack *truth);
