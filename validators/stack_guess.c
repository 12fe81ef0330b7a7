// SPDX-License-Identifier: GPL-2.0-only
#include "validators/stack_guess.h"

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
