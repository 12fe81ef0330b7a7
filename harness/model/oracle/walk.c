// SPDX-License-Identifier: GPL-2.0-only
#include "harness/model/oracle/place.h"

#include <stdlib.h>
#include <string.h>

#include "harness/model/unwind/methods.h"

/*
 * What is on a stack, and what each method sees of it, from one instruction outwards.
 */

static uint64_t return_address(const struct jp_truth_code *code)
{
	return code->addr + jp_truth_return_insn(code)->offset;
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

/* How a method steps out of a function, by what is said of its frames. */
enum step { BY_BP, BY_CFI, STOP };
static const struct method {
	enum step step[JP_SAIDS];
	bool anywhere; /* the rule reads all memory, not just the stack above */
} methods[JP_METHODS] = {
	[JP_CHAIN] = {{BY_BP, BY_BP, BY_BP}, true},
	[JP_DUMP] = {{BY_BP, BY_CFI, STOP}, false},
	[JP_DUMP_FP] = {{BY_BP, BY_BP, BY_BP}, false},
	[JP_DUMP_CFI] = {{STOP, BY_CFI, STOP}, false},
};

/* A walk outwards: it stands at @insn of functions[@depth], @depth -1: beyond the outermost. */
struct walk {
	const struct jp_truth *truth;
	const struct jp_truth_stay *stay;
	const struct jp_truth_root *root;
	const struct method *method;
	struct jp_truth_stack *stack;
	enum jp_method of;
	/* S of each function, of the stay and of the one that it lies over. */
	const uint64_t *entries, *over_entries;
	uint64_t time;
	int64_t depth;
	const struct jp_truth_insn *insn;
};

/* How @method steps out of @code, which it has come to. */
static enum step step_of(const struct walk *walk, const struct jp_truth_code *code)
{
	const struct jp_truth_stack *stack = walk->stack;
	enum jp_said said = code->frames ? code->frames->said : JP_SAID_NOTHING;
	bool cfi = walk->method->step[JP_SAID_RIGHT] == BY_CFI;

	/* Code without a file may say it itself. */
	if (said == JP_SAID_NOTHING && cfi && stack->told &&
	    stack->told(stack->context, code, walk->time))
		said = JP_SAID_RIGHT;
	return walk->method->step[said];
}

/* Whose call functions[@depth] returns to; -1: the native entry's. Those that left by a jump are
 * not there. */
static int64_t caller_of(const struct jp_truth_stay *stay, int64_t depth)
{
	do
		depth--;
	while (depth >= 0 && jp_truth_leaves(stay->path->functions[depth]));
	return depth;
}

static void see(struct walk *walk, uint64_t address, uint64_t at)
{
	struct jp_truth_stack *stack = walk->stack;

	stack->at[stack->nr_seen] = at;
	stack->seen[stack->nr_seen++] = address;
}

/* Goes on in the stay that a handler runs on top of. */
static bool see_interrupted(struct walk *walk)
{
	const struct jp_truth_stay *over = walk->stay->over;
	bool apart = walk->stay->apart;
	uint32_t depth;

	see(walk, over->interrupted_ip, 0);
	walk->stay = over;
	walk->entries = walk->over_entries;
	walk->root = over->root[jp_method_root(walk->of)];
	walk->insn = jp_truth_place(over, over->interrupted_ip, over->interrupted_sp, &depth);
	walk->depth = depth;
	if (!apart)
		return true;
	walk->stack->faithful = false;
	walk->stack->end = JP_END_STACK;
	return false;
}

/* The rest is native, from frames[@first] on. */
static bool see_root(struct walk *walk, uint32_t first, uint64_t at)
{
	const struct jp_truth_stay *stay = walk->stay;
	bool apart = stay->apart && !walk->method->anywhere;
	uint32_t count = walk->root->count;

	/* By frame pointers the handler's frames are as many as by call frame information. */
	if (apart)
		count = stay->over ? stay->root[JP_DUMP]->count : 1;
	for (uint32_t i = first; i < count && i < walk->root->count; i++)
		see(walk, walk->root->frames[i], i ? 0 : at);
	if (stay->over && jp_method_root(walk->of) == JP_DUMP)
		return see_interrupted(walk);
	walk->stack->faithful &= !apart;
	walk->stack->end = apart ? JP_END_STACK : JP_END_ROOT;
	return false;
}

/* Out of functions[@from], whose return address is found. */
static bool see_caller(struct walk *walk, int64_t from)
{
	uint64_t at = walk->entries[from];

	walk->depth = caller_of(walk->stay, from);
	if (walk->depth < 0)
		return see_root(walk, 0, at);
	walk->insn = jp_truth_return_insn(walk->stay->path->functions[walk->depth]);
	see(walk, return_address(walk->stay->path->functions[walk->depth]), at);
	return true;
}

/*
 * The frame-pointer rule sees the return address of the function whose frame bp is; it passes over
 * the callers of those inside of it that have none.
 */
static bool step_bp(struct walk *walk)
{
	const struct jp_truth_code *const *functions = walk->stay->path->functions;
	const struct jp_truth_frames *frames;
	int64_t depth = walk->depth;
	uint8_t bp = walk->insn->bp & ~JP_INSN_MISLED;

	while (bp == JP_BP_CALLER) {
		depth = caller_of(walk->stay, depth);
		/* The native entry's frame, whose return address is frames[1]. */
		if (depth < 0)
			return see_root(walk, 1, 0);
		bp = jp_truth_return_insn(functions[depth])->bp & ~JP_INSN_MISLED;
	}
	if (bp == JP_BP_OWN)
		return see_caller(walk, depth);
	frames = functions[depth]->frames;
	for (uint32_t i = 0;
	     walk->method->anywhere && frames && frames->detour && i < frames->detour->count; i++)
		see(walk, frames->detour->frames[i], 0);
	walk->stack->faithful = false;
	walk->stack->end = JP_END_BP;
	return false;
}

/* Call frame information that is wrong names a word that is no return address. */
static bool step_misled(struct walk *walk)
{
	const struct jp_truth_frames *frames = walk->stay->path->functions[walk->depth]->frames;
	const struct jp_truth_code *code;
	uint64_t word = frames ? frames->word : 0;

	walk->stack->faithful = false;
	if (!word) {
		walk->stack->end = JP_END_ZERO;
		return false;
	}
	see(walk, word, 0);
	/* Where it names code that was left long ago, its caller's rule leads back to the truth. */
	code = jp_truth_code_at(walk->truth, walk->stay->pid, word - 1, walk->time);
	if (code && step_of(walk, code) == BY_BP)
		return step_bp(walk);
	walk->stack->end = JP_END_WORD;
	return false;
}

static bool step(struct walk *walk)
{
	const struct jp_truth_code *code = walk->stay->path->functions[walk->depth];

	switch (step_of(walk, code)) {
	case BY_BP:
		return step_bp(walk);
	case BY_CFI:
		if (walk->insn->bp & JP_INSN_MISLED)
			return step_misled(walk);
		return see_caller(walk, walk->depth);
	default:
		walk->stack->faithful = false;
		walk->stack->end = JP_END_NO_CFI;
		return false;
	}
}

static uint32_t longest_detour(const struct jp_truth_path *path)
{
	uint32_t most = 0;

	for (uint32_t d = 0; d < path->depth; d++) {
		const struct jp_truth_frames *frames = path->functions[d]->frames;

		if (frames && frames->detour && frames->detour->count > most)
			most = frames->detour->count;
	}
	return most;
}

/* S of each function of @stay, down to @depth. */
static uint64_t *list_entries(const struct jp_truth_stay *stay, uint32_t depth, uint64_t *entries)
{
	entries[0] = stay->sp;
	for (uint32_t d = 0; d < depth; d++)
		entries[d + 1] = jp_truth_next_entry(stay->path->functions[d], entries[d]);
	return entries;
}

static uint64_t *list_callers(const struct jp_truth_stay *stay, uint32_t depth,
			      const struct jp_truth_root *root, uint64_t *whole)
{
	for (int64_t d = caller_of(stay, depth); d >= 0; d = caller_of(stay, d))
		*whole++ = return_address(stay->path->functions[d]);
	memcpy(whole, root->frames, root->count * sizeof(*whole));
	return whole + root->count;
}

/* How many addresses a walk may see of @stay. */
static size_t most_of(const struct jp_truth_stay *stay)
{
	/* A misled step sees one more than there are. */
	return (size_t)2 * stay->path->depth + 2 + stay->root[JP_CHAIN]->count +
	       stay->root[JP_DUMP]->count + longest_detour(stay->path);
}

bool jp_truth_walk(const struct jp_truth *truth, const struct jp_truth_stay *stay, uint64_t time,
		   uint64_t ip, uint32_t depth, const struct jp_truth_insn *insn,
		   enum jp_method method, struct jp_truth_stack *stack)
{
	const struct jp_truth_root *root = stay->root[jp_method_root(method)];
	const struct jp_truth_stay *over = stay->over;
	size_t most = most_of(stay) + (over ? most_of(over) : 0);
	uint32_t over_depth = 0;
	uint64_t *whole, *rest;
	struct walk walk = {.truth = truth,
			    .stay = stay,
			    .root = root,
			    .method = &methods[method],
			    .of = method,
			    .stack = stack,
			    .time = time,
			    .depth = depth,
			    .insn = insn};

	/* Handlers do not nest. */
	if (over && (over->over || !jp_truth_place(over, over->interrupted_ip, over->interrupted_sp,
						   &over_depth)))
		return false;
	if (!make_room(stack, 3 * most + depth + over_depth + 2))
		return false;
	whole = stack->whole = stack->room;
	stack->seen = stack->room + most;
	stack->at = stack->room + 2 * most;
	rest = stack->room + 3 * most;
	walk.entries = list_entries(stay, depth, rest);
	*whole++ = ip;
	whole = list_callers(stay, depth, over ? stay->root[JP_DUMP] : root, whole);
	if (over) {
		walk.over_entries = list_entries(over, over_depth, rest + depth + 1);
		*whole++ = over->interrupted_ip;
		whole = list_callers(over, over_depth, over->root[jp_method_root(method)], whole);
	}
	stack->nr_whole = whole - stack->whole;
	stack->nr_seen = 0;
	stack->faithful = true;
	see(&walk, ip, 0);
	while (step(&walk))
		;
	stack->stay = stay;
	stack->depth = depth;
	stack->offset = ip - stay->path->functions[depth]->addr;
	return true;
}
