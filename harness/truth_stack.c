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

static bool leaves(const struct jp_truth_code *code)
{
	return code->layout->tail != UINT32_MAX;
}

/* S of the function that @code leads to, where @entry is its own. */
static uint64_t next_entry(const struct jp_truth_code *code, uint64_t entry)
{
	const struct jp_truth_layout *layout = code->layout;

	return leaves(code) ? sp_at(&layout->insns[layout->tail], entry)
			    : sp_at(return_insn(code), entry) - 8;
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
			entry = next_entry(code, entry);
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
	while (depth >= 0 && leaves(stay->path->functions[depth]));
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
	walk->insn = place(over, over->interrupted_ip, over->interrupted_sp, &depth);
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
	walk->insn = return_insn(walk->stay->path->functions[walk->depth]);
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
		bp = return_insn(functions[depth])->bp & ~JP_INSN_MISLED;
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

	walk->stack->faithful = false;
	if (!frames->word) {
		walk->stack->end = JP_END_ZERO;
		return false;
	}
	see(walk, frames->word, 0);
	/* Where it names code that was left long ago, its caller's rule leads back to the truth. */
	code = jp_truth_code_at(walk->truth, walk->stay->pid, frames->word - 1, walk->time);
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
		entries[d + 1] = next_entry(stay->path->functions[d], entries[d]);
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

/* Both stacks of @insn at @depth. */
static bool build(const struct jp_truth *truth, const struct jp_truth_stay *stay, uint64_t time,
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
	if (over &&
	    (over->over || !place(over, over->interrupted_ip, over->interrupted_sp, &over_depth)))
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
		return is_foreign(truth, pid, ip, time) ? JP_STACK_UNJUDGED : answer;
	return build(truth, fits, time, ip, depth, insn, method, stack) ? JP_STACK_FOUND
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
