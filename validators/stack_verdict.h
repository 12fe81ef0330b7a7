/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdint.h>

#include "harness/judge/findings.h"
#include "harness/model/oracle/oracle.h"
#include "harness/model/unwind/unwind.h"

/*
 * Returns the verdict of an observed stack, from single to exact, or wrong, or extra
 * (docs/reading-results.md); the caller decides unjudged and unmapped first. All stacks are
 * innermost first; whole[0] is the sampled address. @whole: every caller up to the root. @must: the
 * frames that the method must see (a subsequence, or whatever the rule finds). Verdicts are total
 * and disjoint for any three stacks with nr_whole, nr_must >= 1.
 */
enum jp_verdict jp_stack_verdict(const uint64_t *seen, uint32_t nr_seen, const uint64_t *must,
				 uint32_t nr_must, const uint64_t *whole, uint32_t nr_whole);
/* Returns how many frames are equal, from the innermost on. */
uint32_t jp_stack_same(const uint64_t *seen, uint32_t nr_seen, const uint64_t *must,
		       uint32_t nr_must);
/* Returns whether @unwound is what the truth predicts for @method, up to the point where the
 * capture cuts it: at the largest number of addresses of a chain, or at the end of the @dumped
 * bytes from @sp on. */
bool jp_stack_predicted(const struct jp_truth_stack *truth, enum jp_method method,
			const struct jp_unwound *unwound, uint64_t sp, uint64_t dumped);
