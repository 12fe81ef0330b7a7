// SPDX-License-Identifier: GPL-2.0-only
#include "validators/stack_verdict.h"

#include <stdbool.h>
#include <string.h>

static bool are_equal(const uint64_t *a, uint32_t nr_a, const uint64_t *b, uint32_t nr_b)
{
	return nr_a == nr_b && memcmp(a, b, nr_a * sizeof(*a)) == 0;
}

static bool is_subsequence(const uint64_t *part, uint32_t nr_part, const uint64_t *frames,
			   uint32_t nr_all)
{
	uint32_t i = 0;

	for (uint32_t j = 0; i < nr_part && j < nr_all; j++)
		i += part[i] == frames[j];
	return i == nr_part;
}

uint32_t jp_stack_count_same_frames(const uint64_t *recorded_ips, uint32_t nr_seen,
				    const uint64_t *must, uint32_t nr_must)
{
	uint32_t nr_same = 0;

	while (nr_same < nr_seen && nr_same < nr_must && recorded_ips[nr_same] == must[nr_same])
		nr_same++;
	return nr_same;
}

bool jp_stack_is_predicted(const struct jp_truth_stack *truth, enum jp_method method,
			   const struct jp_unwound *unwound, uint64_t sp, uint64_t dumped)
{
	uint32_t count = unwound->count;

	if (!count || count > truth->nr_seen ||
	    memcmp(unwound->frames, truth->expected, count * sizeof(*truth->expected)) != 0)
		return false;
	if (count == truth->nr_seen)
		return true;
	/* The kernel walks the stack itself, so the size of the dump does not matter. */
	if (method == JP_CHAIN)
		return unwound->stop == JP_UNWIND_MAX_STACK;
	/* The place of the next frame on the stack is known unless it is a native frame. The dump
	 * may also end before a page that was never touched (unwound->cut). */
	return truth->return_addrs[count] ? truth->return_addrs[count] - sp >= dumped
					  : unwound->is_incomplete;
}

enum jp_verdict jp_stack_verdict(const uint64_t *recorded_ips, uint32_t nr_seen,
				 const uint64_t *must, uint32_t nr_must, const uint64_t *complete,
				 uint32_t nr_whole)
{
	if (are_equal(recorded_ips, nr_seen, complete, nr_whole))
		return JP_EXACT;
	if (are_equal(recorded_ips, nr_seen, must, nr_must))
		return JP_GAP;
	if (nr_seen && recorded_ips[0] != complete[0])
		return JP_WRONG;
	if (!is_subsequence(recorded_ips, nr_seen, complete, nr_whole) &&
	    !is_subsequence(recorded_ips, nr_seen, must, nr_must))
		return is_subsequence(must, nr_must, recorded_ips, nr_seen) ? JP_EXTRA : JP_WRONG;
	if (nr_seen <= 1)
		return JP_SINGLE;
	if (recorded_ips[nr_seen - 1] != complete[nr_whole - 1] &&
	    recorded_ips[nr_seen - 1] != must[nr_must - 1])
		return JP_SHORT;
	/* In a stack that reaches the root, frames that the method need not show are allowed. */
	return is_subsequence(must, nr_must, recorded_ips, nr_seen) ? JP_GAP : JP_HOLE;
}

enum jp_stack_answer jp_stack_guess_best_fit(const struct jp_evidence *evidence,
					     const struct jp_event *event, enum jp_method method,
					     struct jp_truth_guess guess, jp_stack_fit fit,
					     void *context, struct jp_truth_stack *truth)
{
	const uint64_t slack = evidence->info.slack;
	struct jp_truth_guess before = guess, best = guess;
	enum jp_verdict most = JP_UNJUDGED;
	enum jp_stack_answer answer;

	for (;; before = guess) {
		enum jp_verdict verdict;

		answer = jp_truth_stack_guess(evidence->truth, event->pid, event->tid, event->time,
					      slack, method, &guess, truth);
		if (answer != JP_STACK_FOUND)
			break;
		/* The values of enum jp_verdict are ordered from bad to good. */
		verdict = fit(context, truth);
		if (verdict <= most)
			continue;
		most = verdict;
		best = before;
		if (verdict == JP_EXACT)
			return answer;
	}
	if (most == JP_UNJUDGED || answer == JP_STACK_UNJUDGED)
		return answer;
	return jp_truth_stack_guess(evidence->truth, event->pid, event->tid, event->time, slack,
				    method, &best, truth);
}
