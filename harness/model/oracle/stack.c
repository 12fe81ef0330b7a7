// SPDX-License-Identifier: GPL-2.0-only
#include "harness/model/oracle/place.h"

#include <stdlib.h>
#include <string.h>

#include "harness/model/unwind/methods.h"

/* The last stay of @tid with enter <= @time, or NULL. */
static const struct jp_truth_stay *
stay_at(const struct jp_truth *truth, const struct jp_truth_stay *hint, uint32_t tid, uint64_t time)
{
	const struct jp_truth_stay *stays = truth->stays, *end = stays + truth->nr_stays;
	size_t low = 0, high = truth->nr_stays;

	/* Samples come in time order: mostly it is the last one again, or the next. */
	if ((uintptr_t)hint >= (uintptr_t)stays && (uintptr_t)hint < (uintptr_t)end)
		for (unsigned i = 0; i < 2 && hint < end; i++, hint++)
			if (hint->tid == tid && hint->enter <= time &&
			    (hint + 1 == end || hint[1].tid != tid || hint[1].enter > time))
				return hint;
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (stays[middle].tid < tid ||
		    (stays[middle].tid == tid && stays[middle].enter <= time))
			low = middle + 1;
		else
			high = middle;
	}
	return low && stays[low - 1].tid == tid ? &stays[low - 1] : NULL;
}

/* Two stays in the same place of the same path from the same native frame: which one does not
 * matter. */
static bool same_stack(const struct jp_truth_stay *one, const struct jp_truth_stay *other,
		       enum jp_method method)
{
	return one->path == other->path && one->sp == other->sp && one->bp == other->bp &&
	       one->over == other->over && one->apart == other->apart &&
	       one->root[jp_method_root(method)] == other->root[jp_method_root(method)];
}

/* Whether others run what is at @ip, in ways that nobody wrote down. */
static bool is_foreign(const struct jp_truth *truth, uint32_t pid, uint64_t ip, uint64_t time)
{
	const struct jp_truth_code *code = jp_truth_code_at(truth, pid, ip, time);

	return code && code->frames && code->frames->foreign;
}

enum jp_stack_answer jp_truth_stack_at(const struct jp_truth *truth, uint32_t pid, uint32_t tid,
				       uint64_t time, uint64_t slack, uint64_t ip, uint64_t sp,
				       enum jp_method method, struct jp_truth_stack *stack)
{
	uint64_t from = time > slack ? time - slack : 0;
	uint64_t to = time < UINT64_MAX - slack ? time + slack : UINT64_MAX;
	const struct jp_truth_stay *stay = stay_at(truth, stack->stay, tid, to), *fits = NULL;
	const struct jp_truth_insn *insn = NULL;
	enum jp_stack_answer answer = JP_STACK_NO_STAY;
	uint32_t depth = 0;

	/* Every stay that @slack allows; stays of one thread do not overlap. */
	for (; stay && stay >= truth->stays && stay->tid == tid && stay->leave >= from; stay--) {
		const struct jp_truth_insn *found;
		uint32_t at;

		if (stay->pid != pid)
			continue;
		if (answer == JP_STACK_NO_STAY)
			answer = JP_STACK_NO_DEPTH;
		found = jp_truth_place(stay, ip, sp, &at);
		if (!found)
			continue;
		if (stay->unsteady && jp_method_root(method) == JP_CHAIN)
			return JP_STACK_UNJUDGED;
		if (fits && !same_stack(fits, stay, method))
			return JP_STACK_UNJUDGED;
		fits = stay;
		insn = found;
		depth = at;
	}
	if (!fits)
		return is_foreign(truth, pid, ip, time) ? JP_STACK_UNJUDGED : answer;
	return jp_truth_walk(truth, fits, time, ip, depth, insn, method, stack) ? JP_STACK_FOUND
										: JP_STACK_UNJUDGED;
}

void jp_truth_stack_free(struct jp_truth_stack *stack)
{
	free(stack->room);
	memset(stack, 0, sizeof(*stack));
}
