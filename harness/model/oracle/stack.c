// SPDX-License-Identifier: GPL-2.0-only
#include "harness/model/oracle/path_position.h"

#include <stdlib.h>
#include <string.h>

#include "harness/base/search.h"
#include "harness/model/unwind/methods.h"

const struct jp_truth_activation *jp_truth_activation_at(const struct jp_truth *truth,
							 const struct jp_truth_activation *hint,
							 uint32_t tid, uint64_t time)
{
	const struct jp_truth_activation *activations = truth->activations,
					 *end = activations + truth->nr_activations;
	size_t i;

	/* Samples are sorted by time, so mostly the activation @hint or the one after it
	 * matches. */
	if ((uintptr_t)hint >= (uintptr_t)activations && (uintptr_t)hint < (uintptr_t)end)
		for (i = 0; i < 2 && hint < end; i++, hint++)
			if (hint->tid == tid && hint->enter <= time &&
			    (hint + 1 == end || hint[1].tid != tid || hint[1].enter > time))
				return hint;
	jp_search(i, truth->nr_activations,
		  activations[i].tid < tid ||
			  (activations[i].tid == tid && activations[i].enter <= time));
	return i && activations[i - 1].tid == tid ? &activations[i - 1] : NULL;
}

/* Returns whether two activations have the same stack: same place, path and native frame. */
static bool are_stacks_equal(const struct jp_truth_activation *a,
			     const struct jp_truth_activation *b, enum jp_method method)
{
	return a->path == b->path && a->sp == b->sp && a->bp == b->bp &&
	       a->interrupted == b->interrupted && a->other_stack == b->other_stack &&
	       a->root[jp_method_root(method)] == b->root[jp_method_root(method)];
}

/* Returns whether @ip is code of the vDSO that other code may run without a record. @within: the
 * thread is in a path, so this is only possible for instructions that the recorded layout lacks. */
static bool is_vdso(const struct jp_truth *truth, uint32_t pid, uint64_t ip, uint64_t time,
		    bool within)
{
	const struct jp_truth_code *code = jp_truth_code_at(truth, pid, ip, time);

	return code && code->frames && code->frames->vdso &&
	       !(within && jp_truth_insn_at(code->layout, ip - code->addr));
}

enum jp_stack_answer jp_truth_stack_at(const struct jp_truth *truth, uint32_t pid, uint32_t tid,
				       uint64_t time, uint64_t slack, uint64_t ip, uint64_t sp,
				       enum jp_method method, struct jp_truth_stack *stack)
{
	uint64_t from = time > slack ? time - slack : 0;
	uint64_t to = time < UINT64_MAX - slack ? time + slack : UINT64_MAX;
	const struct jp_truth_activation *activation = jp_truth_activation_at(
						 truth, stack->activation, tid, to),
					 *fits = NULL;
	const struct jp_truth_insn *insn = NULL;
	enum jp_stack_answer answer = JP_STACK_NO_ACTIVATION;
	bool within = false; /* the activation's code called the sampled code */
	uint32_t depth = 0;

	if (!stack->machine)
		stack->machine = jp_machine_find(truth->e_machine);
	if (!stack->machine)
		return JP_STACK_UNJUDGED;
	/* Check each activation that @slack allows; activations of one thread do not overlap. */
	for (; activation && activation >= truth->activations && activation->tid == tid &&
	       activation->leave >= from;
	     activation--) {
		const struct jp_truth_insn *found;
		uint32_t place;

		if (activation->pid != pid)
			continue;
		if (answer == JP_STACK_NO_ACTIVATION)
			answer = JP_STACK_NO_DEPTH;
		within |= sp < activation->sp && !activation->other_stack &&
			  !activation->was_interrupted && activation->called <= from &&
			  activation->leave > to;
		found = jp_truth_find_place(stack->machine, activation, ip, sp, &place);
		if (!found)
			continue;
		if (activation->roots_changed && jp_method_root(method) == JP_CHAIN)
			return JP_STACK_UNJUDGED;
		if (fits && !are_stacks_equal(fits, activation, method))
			return JP_STACK_UNJUDGED;
		fits = activation;
		insn = found;
		depth = place;
	}
	if (!fits)
		return is_vdso(truth, pid, ip, time, within) ? JP_STACK_UNJUDGED : answer;
	return jp_truth_walk(truth, fits, time, ip, depth, insn, method, stack) ? JP_STACK_FOUND
										: JP_STACK_UNJUDGED;
}

enum jp_stack_answer jp_truth_stack_guess(const struct jp_truth *truth, uint32_t pid, uint32_t tid,
					  uint64_t time, uint64_t slack, enum jp_method method,
					  struct jp_truth_guess *guess,
					  struct jp_truth_stack *stack)
{
	uint64_t from = time > slack ? time - slack : 0;
	uint64_t to = time < UINT64_MAX - slack ? time + slack : UINT64_MAX;

	if (!stack->machine)
		stack->machine = jp_machine_find(truth->e_machine);
	if (!stack->machine)
		return JP_STACK_UNJUDGED;
	if (!guess->activation)
		guess->activation = jp_truth_activation_at(truth, stack->activation, tid, to);
	for (; guess->activation && guess->activation >= truth->activations &&
	       guess->activation->tid == tid && guess->activation->leave >= from;
	     guess->activation--, guess->depth = guess->insn = 0) {
		const struct jp_truth_activation *activation = guess->activation;
		const struct jp_truth_insn *insn;

		if (activation->pid != pid)
			continue;
		guess->any = true;
		insn = jp_truth_guess_place(activation, guess);
		if (!insn)
			continue;
		if (activation->roots_changed && jp_method_root(method) == JP_CHAIN)
			return JP_STACK_UNJUDGED;
		return jp_truth_walk(truth, activation, time, guess->ip, guess->depth, insn, method,
				     stack)
			       ? JP_STACK_FOUND
			       : JP_STACK_UNJUDGED;
	}
	if (!guess->name && is_vdso(truth, pid, guess->ip, time, false))
		return JP_STACK_UNJUDGED;
	return guess->any ? JP_STACK_NO_DEPTH : JP_STACK_NO_ACTIVATION;
}

bool jp_truth_is_inside(const struct jp_truth *truth, uint32_t tid, uint64_t time, uint64_t slack)
{
	const struct jp_truth_activation *activation =
		time < slack ? NULL : jp_truth_activation_at(truth, NULL, tid, time - slack);

	return activation && activation->called <= time - slack &&
	       (activation->leave > time && activation->leave - time > slack);
}

void jp_truth_stack_free(struct jp_truth_stack *stack)
{
	free(stack->buf);
	memset(stack, 0, sizeof(*stack));
}
