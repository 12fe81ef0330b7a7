// SPDX-License-Identifier: GPL-2.0-only
#include "harness/truth_tables.h"

#include <stdlib.h>
#include <string.h>

#include "harness/methods.h"

/* The instruction of @layout at @offset, or NULL: every sample lies on the edge of one. */
static const struct jp_truth_insn *insn_at(const struct jp_truth_layout *layout, uint64_t offset)
{
	uint32_t low = 0, high = layout->count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (layout->insns[middle].offset < offset)
			low = middle + 1;
		else
			high = middle;
	}
	return low < layout->count && layout->insns[low].offset == offset ? &layout->insns[low]
									  : NULL;
}

static uint64_t sp_at(const struct jp_truth_insn *insn, uint64_t entry)
{
	return ((entry - insn->pre) & -(UINT64_C(1) << insn->align)) - insn->post;
}

static const struct jp_truth_insn *return_insn(const struct jp_truth_code *code)
{
	return &code->layout->insns[code->layout->returns];
}

static uint64_t return_address(const struct jp_truth_code *code)
{
	return code->addr + return_insn(code)->offset;
}

/* Where (@ip, @sp) is in @stay's path, or NULL; *@depth is set. The further in, the lower the stack
 * lies: the search ends where it is below @sp. */
static const struct jp_truth_insn *place(const struct jp_truth_stay *stay, uint64_t ip, uint64_t sp,
					 uint32_t *depth)
{
	const struct jp_truth_path *path = stay->path;
	uint64_t entry = stay->sp;

	for (uint32_t d = 0; d < path->depth; d++) {
		const struct jp_truth_code *code = path->functions[d];

		if (entry < sp)
			return NULL;
		if (ip - code->addr < code->size) {
			const struct jp_truth_insn *insn = insn_at(code->layout, ip - code->addr);

			if (insn && sp_at(insn, entry) == sp) {
				*depth = d;
				return insn;
			}
		}
		if (d + 1 < path->depth)
			entry = sp_at(return_insn(code), entry) - 8;
	}
	return NULL;
}

static bool make_room(struct jp_truth_stack *stack, size_t size)
{
	uint64_t *room;

	if (size <= stack->room_size)
		return true;
	room = realloc(stack->room, size * sizeof(*room));
	if (!room)
		return false;
	stack->room = room;
	stack->room_size = size;
	return true;
}

/*
 * Both stacks of @insn at @depth. The frame-pointer rule sees, from bp outwards, the return address
 * of each function whose own frame is linked; it passes over the callers of those that are not.
 * Whoever comes to a function by call frame information of its own sees its caller in any case.
 */
static bool build(const struct jp_truth_stay *stay, uint64_t ip, uint32_t depth, uint64_t time,
		  const struct jp_truth_insn *insn, enum jp_method method,
		  struct jp_truth_stack *stack)
{
	const struct jp_truth_root *root = stay->root[jp_method_root(method)];
	const struct jp_truth_code *const *functions = stay->path->functions;
	size_t most = (size_t)depth + 1 + root->count;
	bool visited = true; /* the walk comes to functions[d] itself */
	uint64_t *whole, *seen;

	if (!make_room(stack, 2 * most))
		return false;
	whole = stack->whole = stack->room;
	seen = stack->seen = stack->room + most;
	*whole++ = ip;
	*seen++ = ip;
	for (uint32_t d = depth;; d--) {
		/* What @insn of functions[d] holds in bp is its own frame: its caller is seen. */
		bool linked = insn->bp == JP_BP_OWN || method == JP_DUMP_CFI;
		uint64_t caller;

		if (!linked && visited && method == JP_DUMP && stack->told)
			linked = stack->told(stack->context, functions[d], time);
		visited = linked;

		if (!d) {
			/* The rule's next step reads the native entry's frame, whose return address
			 * is frames[1]; frames[0] lies above functions[0]'s own. */
			memcpy(whole, root->frames, root->count * sizeof(*whole));
			whole += root->count;
			memcpy(seen, root->frames + !linked,
			       (root->count - !linked) * sizeof(*seen));
			seen += root->count - !linked;
			break;
		}
		caller = return_address(functions[d - 1]);
		*whole++ = caller;
		if (linked)
			*seen++ = caller;
		/* In either case the caller's bp, as it is at its call, leads on. */
		insn = return_insn(functions[d - 1]);
	}
	stack->stay = stay;
	stack->depth = depth;
	stack->offset = ip - functions[depth]->addr;
	stack->nr_whole = whole - stack->whole;
	stack->nr_seen = seen - stack->seen;
	return true;
}

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
	       one->root[jp_method_root(method)] == other->root[jp_method_root(method)];
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
		found = place(stay, ip, sp, &at);
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
		return answer;
	return build(fits, ip, depth, time, insn, method, stack) ? JP_STACK_FOUND
								 : JP_STACK_UNJUDGED;
}

void jp_truth_stack_free(struct jp_truth_stack *stack)
{
	free(stack->room);
	memset(stack, 0, sizeof(*stack));
}

/* The first of codes[low..high) of @pid that lies behind (@addr, @time). */
static size_t code_after(const struct jp_truth *truth, size_t low, size_t high, uint32_t pid,
			 uint64_t addr, uint64_t time)
{
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct jp_truth_code *code = &truth->codes[middle];
		bool behind = code->pid != pid     ? code->pid > pid
			      : code->addr != addr ? code->addr > addr
						   : code->loaded > time;

		if (behind)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

const struct jp_truth_code *jp_truth_code_at(const struct jp_truth *truth, uint32_t pid,
					     uint64_t ip, uint64_t time)
{
	size_t at = code_after(truth, 0, truth->nr_codes, pid, ip, UINT64_MAX);

	/* From the nearest start below @ip downwards, as long as anything there reaches up to it.
	 * Of the codes with one start, the last one loaded by then. */
	while (at && truth->codes[at - 1].pid == pid && truth->tables->code_reach[at - 1] > ip) {
		uint64_t addr = truth->codes[at - 1].addr;
		size_t later = code_after(truth, 0, at, pid, addr, time);

		if (later) {
			const struct jp_truth_code *code = &truth->codes[later - 1];

			if (code->pid == pid && code->addr == addr && ip - addr < code->size &&
			    time <= code->unloaded)
				return code;
		}
		at = addr ? code_after(truth, 0, at, pid, addr - 1, UINT64_MAX) : 0;
	}
	return NULL;
}
