// SPDX-License-Identifier: GPL-2.0-only
#include "harness/model/oracle/path_position.h"

#include <string.h>

#include "harness/base/array.h"
#include "harness/model/unwind/methods.h"

/* Builds the frames of a stack from one instruction outwards: all frames, and those that each
 * method finds. */

static uint64_t get_return_address(const struct jp_truth_code *code)
{
	return code->addr + jp_truth_return_insn(code)->offset;
}

/* How a method steps out of a function, which depends on the status of the function's call frame
 * information. */
enum step { BY_BP, BY_CFI, STOP };
static const struct method {
	enum step step[JP_CFI_STATUSES];
	bool reads_all; /* the method can read all memory, not only the dump */
} methods[JP_METHODS] = {
	[JP_CHAIN] = {{BY_BP, BY_BP, BY_BP}, true},
	[JP_DUMP] = {{BY_BP, BY_CFI, STOP}, false},
	[JP_DUMP_FP] = {{BY_BP, BY_BP, BY_BP}, false},
	[JP_DUMP_CFI] = {{STOP, BY_CFI, STOP}, false},
};

/* A walk outwards from @insn of functions[@depth]; @depth -1: outside of the outermost function. */
struct oracle_walk {
	const struct jp_truth *truth;
	const struct jp_truth_activation *activation;
	const struct jp_truth_root *root;
	const struct method *method;
	struct jp_truth_stack *stack;
	enum jp_method id;
	/* Stack pointer at the entry (S) of each function of the activation, and of each function
	 * of the activation that it interrupted. */
	const uint64_t *entries, *over_entries;
	uint64_t time;
	int64_t depth;
	const struct jp_truth_insn *insn;
};

/* Returns whether a walk by call frame information ends at native @addr because its file was not
 * kept or has none for it. */
static bool lacks_file(const struct oracle_walk *walk, uint64_t addr)
{
	const struct jp_truth_stack *stack = walk->stack;

	return walk->method->step[JP_CFI_RIGHT] == BY_CFI && stack->lacks_file &&
	       stack->lacks_file(stack->context, walk->activation->pid, addr);
}

/* Returns how the method steps out of @code. */
static enum step choose_step(const struct oracle_walk *walk, const struct jp_truth_code *code)
{
	const struct jp_truth_stack *stack = walk->stack;
	enum jp_cfi_status cfi_status = code->frames ? code->frames->cfi_status : JP_CFI_NO_FILE;
	bool cfi = walk->method->step[JP_CFI_RIGHT] == BY_CFI;

	if (cfi_status == JP_CFI_RIGHT && lacks_file(walk, code->addr))
		return STOP;
	if (stack->seems_emitted &&
	    stack->seems_emitted(stack->context, walk->activation->pid, code->addr))
		cfi_status = JP_CFI_NO_FILE;
	/* Code without a file may have unwind information. */
	if (cfi_status == JP_CFI_NO_FILE && cfi && stack->has_unwind_info &&
	    stack->has_unwind_info(stack->context, code, walk->time))
		cfi_status = JP_CFI_RIGHT;
	return walk->method->step[cfi_status];
}

/* Returns the index of the function to which functions[@depth] returns, or -1 for the native entry.
 * Functions that jumped to the next one (tail calls) have no frame and are skipped. */
static int64_t find_caller(const struct jp_truth_activation *activation, int64_t depth)
{
	do
		depth--;
	while (depth >= 0 && jp_truth_is_tail_call(activation->path->functions[depth]));
	return depth;
}

static void add_expected_frame(struct oracle_walk *walk, uint64_t address, uint64_t word_addr)
{
	struct jp_truth_stack *stack = walk->stack;

	stack->return_addrs[stack->nr_seen] = word_addr;
	stack->expected[stack->nr_seen++] = address;
}

/* Continues the walk in the activation that the handler interrupted. */
static bool walk_interrupted(struct oracle_walk *walk)
{
	const struct jp_truth_activation *interrupted = walk->activation->interrupted;
	bool other_stack = walk->activation->other_stack;
	uint32_t depth;

	add_expected_frame(walk, interrupted->interrupted_ip, 0);
	walk->activation = interrupted;
	walk->entries = walk->over_entries;
	walk->root = interrupted->root[jp_method_root(walk->id)];
	walk->insn =
		jp_truth_find_place(walk->stack->machine, interrupted, interrupted->interrupted_ip,
				    interrupted->interrupted_sp, &depth);
	walk->depth = depth;
	if (!other_stack)
		return true;
	walk->stack->faithful = false;
	walk->stack->end = JP_END_STACK;
	return false;
}

/* Walks the native frames from frames[@first] on. */
static bool walk_root(struct oracle_walk *walk, uint32_t first, uint64_t word_addr)
{
	const struct jp_truth_activation *activation = walk->activation;
	bool other_stack = activation->other_stack && !walk->method->reads_all;
	bool goes_on = activation->interrupted && jp_method_root(walk->id) == JP_DUMP;
	uint32_t count = walk->root->count;

	/* Frame pointers and call frame information find the same number of frames in the
	 * handler. */
	if (other_stack)
		count = activation->interrupted ? activation->root[JP_DUMP]->count : 1;
	for (uint32_t i = first; i < count && i < walk->root->count; i++) {
		add_expected_frame(walk, walk->root->frames[i], i ? 0 : word_addr);
		if ((i + 1 == count && !goes_on) || !lacks_file(walk, walk->root->frames[i] - 1))
			continue;
		walk->stack->faithful = false;
		walk->stack->end = JP_END_NO_CFI;
		return false;
	}
	if (goes_on)
		return walk_interrupted(walk);
	walk->stack->faithful &= !other_stack;
	walk->stack->end = other_stack ? JP_END_STACK : JP_END_ROOT;
	return false;
}

/* Steps from functions[@from] to its caller. */
static bool step_to_caller(struct oracle_walk *walk, int64_t from)
{
	uint64_t word_addr = walk->entries[from] + walk->stack->machine->frames->return_at;

	walk->depth = find_caller(walk->activation, from);
	if (walk->depth < 0)
		return walk_root(walk, 0, word_addr);
	walk->insn = jp_truth_return_insn(walk->activation->path->functions[walk->depth]);
	add_expected_frame(walk, get_return_address(walk->activation->path->functions[walk->depth]),
			   word_addr);
	return true;
}

/* Returns whether the kernel follows the walk's frame pointer to the frames of @frames->detour. */
static bool follows_detour(const struct oracle_walk *walk, const struct jp_truth_frames *frames)
{
	const struct jp_machine_frames *rule = walk->stack->machine->frames;
	/* 0 if the frame pointer is the sampled one, not read from the stack */
	const uint64_t return_at = walk->stack->return_addrs[walk->stack->nr_seen - 1];

	return walk->method->reads_all && frames && frames->detour &&
	       (!rule->upwards || !return_at || frames->word > return_at);
}

/* The frame-pointer rule finds the return address of the function whose frame bp points to, and
 * skips the callers of inner functions without a frame. */
static bool follow_frame_pointer(struct oracle_walk *walk)
{
	const struct jp_truth_code *const *functions = walk->activation->path->functions;
	const struct jp_truth_frames *frames;
	int64_t depth = walk->depth;
	uint8_t bp = walk->insn->bp & ~JP_INSN_FLAGS;
	uint32_t count;

	while (bp == JP_BP_CALLER) {
		depth = find_caller(walk->activation, depth);
		/* The frame belongs to the native entry, and frames[1] is its return address. */
		if (depth < 0)
			return walk_root(walk, 1, 0);
		bp = jp_truth_return_insn(functions[depth])->bp & ~JP_INSN_FLAGS;
	}
	if (bp == JP_BP_OWN)
		return step_to_caller(walk, depth);
	frames = functions[depth]->frames;
	count = follows_detour(walk, frames) ? frames->detour->count : 0;
	for (uint32_t i = 0; i < count; i++)
		add_expected_frame(walk, frames->detour->frames[i], 0);
	walk->stack->faithful = false;
	walk->stack->end = JP_END_BP;
	return false;
}

/* Returns whether the method finds the caller of @code, at its return address @word, by bp alone.
 */
static bool steps_by_bp(const struct oracle_walk *walk, const struct jp_truth_code *code,
			uint64_t word)
{
	const enum step step = choose_step(walk, code);

	/* While a function's own frame is in bp, its call frame information starts from bp, too. */
	return step == BY_BP || (step == BY_CFI && word == get_return_address(code) &&
				 (jp_truth_return_insn(code)->bp & ~JP_INSN_FLAGS) == JP_BP_OWN);
}

/* Follows wrong call frame information to a word that is not a return address. */
static bool follow_wrong_cfi(struct oracle_walk *walk)
{
	const struct jp_truth_frames *frames =
		walk->activation->path->functions[walk->depth]->frames;
	const struct jp_truth_code *code;
	uint64_t word = frames ? frames->word : 0;

	walk->stack->faithful = false;
	if (!word) {
		walk->stack->end = JP_END_ZERO;
		return false;
	}
	add_expected_frame(walk, word, 0);
	/* If the word points into code of a function that was left earlier, that function's rule
	 * leads back to true frames. */
	code = jp_truth_code_at(walk->truth, walk->activation->pid, word - 1, walk->time);
	if (code && steps_by_bp(walk, code, word))
		return follow_frame_pointer(walk);
	walk->stack->end = JP_END_WORD;
	return false;
}

/* Returns the address in the link register at @insn of functions[@depth]. Emitted code loads the
 * register again after each of its calls, so only the instruction after a call finds another
 * address than the function's own return address: itself. */
static uint64_t find_link(const struct jp_truth_activation *activation, uint32_t depth,
			  const struct jp_truth_insn *insn, const struct jp_truth_root *root)
{
	const struct jp_truth_code *code = activation->path->functions[depth];
	const int64_t caller = find_caller(activation, depth);

	if (code->layout->returns != UINT32_MAX && insn == jp_truth_return_insn(code))
		return get_return_address(code);
	return caller < 0 ? root->frames[0]
			  : get_return_address(activation->path->functions[caller]);
}

static bool step_to_next_frame(struct oracle_walk *walk)
{
	const struct jp_truth_code *code = walk->activation->path->functions[walk->depth];

	switch (choose_step(walk, code)) {
	case BY_BP:
		return follow_frame_pointer(walk);
	case BY_CFI:
		if (walk->insn->bp & JP_INSN_MISLED)
			return follow_wrong_cfi(walk);
		return step_to_caller(walk, walk->depth);
	default:
		walk->stack->faithful = false;
		walk->stack->end = JP_END_NO_CFI;
		return false;
	}
}

static uint32_t find_longest_detour(const struct jp_truth_path *path)
{
	uint32_t max = 0;

	for (uint32_t d = 0; d < path->depth; d++) {
		const struct jp_truth_frames *frames = path->functions[d]->frames;

		if (frames && frames->detour && frames->detour->count > max)
			max = frames->detour->count;
	}
	return max;
}

/* Fills @entries with S of each function of @activation, down to @depth. */
static uint64_t *list_entries(const struct jp_machine *machine,
			      const struct jp_truth_activation *activation, uint32_t depth,
			      uint64_t *entries)
{
	entries[0] = activation->sp;
	for (uint32_t d = 0; d < depth; d++)
		entries[d + 1] =
			jp_truth_next_entry(machine, activation->path->functions[d], entries[d]);
	return entries;
}

static uint64_t *list_callers(const struct jp_truth_activation *activation, uint32_t depth,
			      const struct jp_truth_root *root, uint64_t *frames)
{
	for (int64_t d = find_caller(activation, depth); d >= 0; d = find_caller(activation, d))
		*frames++ = get_return_address(activation->path->functions[d]);
	memcpy(frames, root->frames, root->count * sizeof(*frames));
	return frames + root->count;
}

/* Returns the largest number of addresses that a walk of @activation can find. */
static size_t count_most_addresses(const struct jp_truth_activation *activation)
{
	/* A step by wrong call frame information adds one address. */
	return (size_t)2 * activation->path->depth + 2 + activation->root[JP_CHAIN]->count +
	       activation->root[JP_DUMP]->count + find_longest_detour(activation->path);
}

bool jp_truth_walk(const struct jp_truth *truth, const struct jp_truth_activation *activation,
		   uint64_t time, uint64_t ip, uint32_t depth, const struct jp_truth_insn *insn,
		   enum jp_method method, struct jp_truth_stack *stack)
{
	const struct jp_truth_root *root = activation->root[jp_method_root(method)];
	const struct jp_truth_activation *interrupted = activation->interrupted;
	size_t max = count_most_addresses(activation) +
		     (interrupted ? count_most_addresses(interrupted) : 0);
	uint32_t over_depth = 0;
	uint64_t *frames, *rest;
	struct oracle_walk walk = {.truth = truth,
				   .activation = activation,
				   .root = root,
				   .method = &methods[method],
				   .id = method,
				   .stack = stack,
				   .time = time,
				   .depth = depth,
				   .insn = insn};

	/* Nested handlers are not supported. */
	if (interrupted &&
	    (interrupted->interrupted ||
	     !jp_truth_find_place(stack->machine, interrupted, interrupted->interrupted_ip,
				  interrupted->interrupted_sp, &over_depth)))
		return false;
	if (!jp_array_reserve(&stack->buf, &stack->buf_size, 3 * max + depth + over_depth + 2))
		return false;
	frames = stack->frames = stack->buf;
	stack->expected = stack->buf + max;
	stack->return_addrs = stack->buf + 2 * max;
	rest = stack->buf + 3 * max;
	walk.entries = list_entries(stack->machine, activation, depth, rest);
	*frames++ = ip;
	frames = list_callers(activation, depth, interrupted ? activation->root[JP_DUMP] : root,
			      frames);
	if (interrupted) {
		walk.over_entries =
			list_entries(stack->machine, interrupted, over_depth, rest + depth + 1);
		*frames++ = interrupted->interrupted_ip;
		frames = list_callers(interrupted, over_depth,
				      interrupted->root[jp_method_root(method)], frames);
	}
	stack->nr_whole = frames - stack->frames;
	stack->nr_seen = 0;
	stack->faithful = true;
	add_expected_frame(&walk, ip, 0);
	while (step_to_next_frame(&walk))
		;
	if (walk.method->reads_all && stack->machine->frames->link_first && stack->nr_seen > 1) {
		stack->expected[1] = find_link(activation, depth, insn, root);
		stack->return_addrs[1] = 0;
	}
	stack->activation = activation;
	stack->depth = depth;
	stack->offset = ip - activation->path->functions[depth]->addr;
	return true;
}
