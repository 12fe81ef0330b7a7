// SPDX-License-Identifier: GPL-2.0-only
#include "harness/explain/ending.h"

static enum jp_code_kind note_frame(struct jp_codes *codes, const struct jp_places_process *process,
				    struct jp_stretch *stretch, struct jp_ending *ending)
{
	enum jp_code_kind code = JP_CODE_NONE;

	if (stretch->place == JP_PLACE_UNMAPPED)
		return code;
	code = jp_code_at(codes, process, stretch);
	ending->emitted |= code == JP_CODE_EMITTED;
	ending->file |= code != JP_CODE_EMITTED;
	if (ending->emitted && !ending->caller && (code == JP_CODE_FILE || code == JP_CODE_PROGRAM))
		ending->caller = jp_code_file(codes, process, stretch);
	if (!ending->interpreter && stretch->note & JP_CODE_INTERPRETS)
		ending->interpreter = jp_code_file(codes, process, stretch);
	return code;
}

/* Stores in @ending the kinds of code of the innermost frames. */
static void note_top_frames(struct jp_codes *codes, const struct jp_places_process *process,
			    const struct jp_stack *stack, struct jp_ending *ending)
{
	for (uint64_t i = 0; i < stack->count && i < 3 && stack->frames[i] < JP_CONTEXT_MAX; i++) {
		struct jp_stretch *stretch = jp_places_at(codes->places, process, stack->frames[i]);

		if (stretch->place == JP_PLACE_UNMAPPED)
			break;
		if (jp_code_at(codes, process, stretch) != JP_CODE_EMITTED) {
			if (!(stretch->note & JP_CODE_HOTSPOT))
				break;
			ending->skips_stub = i == 1;
			ending->from_stub = ending->calls_jit;
			ending->calls_jit = false;
			break;
		}
		ending->calls_jit = ending->in_jit;
		ending->in_jit = true;
	}
}

/* Returns the index, @from or higher, of the first frame of @stack that is in no mapping. Stores
 * the kind of the last mapped frame in *@code. */
static uint64_t skip_mapped_frames(struct jp_codes *codes, const struct jp_places_process *process,
				   const struct jp_stack *stack, uint64_t from,
				   enum jp_code_kind *code, struct jp_ending *ending)
{
	struct jp_stretch *stretch;
	uint64_t i = from;

	while (i < stack->count && stack->frames[i] < JP_CONTEXT_MAX) {
		stretch = jp_places_at(codes->places, process, stack->frames[i]);
		if (stretch->place == JP_PLACE_UNMAPPED)
			break;
		*code = note_frame(codes, process, stretch, ending);
		do
			i++;
		while (i < stack->count && stack->frames[i] - stretch->start < stretch->size);
		if (*code == JP_CODE_EMITTED)
			ending->outermost = i - 1;
	}
	return i;
}

/* Returns whether the chain contains known code again after unknown addresses, and ends where
 * programs begin. Then the addresses in between are code without mapping records. */
static bool ends_at_root(struct jp_codes *codes, const struct jp_places_process *process,
			 const struct jp_stack *stack)
{
	const uint64_t last = stack->frames[stack->count - 1];
	struct jp_stretch *stretch;

	if (last >= JP_CONTEXT_MAX)
		return false;
	stretch = jp_places_at(codes->places, process, last);
	return stretch->place != JP_PLACE_UNMAPPED && stretch->root;
}

/* Returns whether user code can be at the address. */
static bool is_possible(uint64_t addr)
{
	return addr >= 0x1000 && addr < UINT64_C(1) << 56;
}

/* Returns whether the frames are so far apart that they cannot all be one JIT's code. They are no
 * garbage either, which rarely contains three possible addresses. */
static bool is_spread_too_far(const struct jp_stack *stack)
{
	enum { LEAST = 3 };
	const uint64_t far = UINT64_C(1) << 40;
	uint64_t low = UINT64_MAX, high = 0;

	for (uint64_t i = 0; i < stack->count; i++) {
		if (!is_possible(stack->frames[i]))
			return false;
		low = stack->frames[i] < low ? stack->frames[i] : low;
		high = stack->frames[i] > high ? stack->frames[i] : high;
	}
	return stack->count >= LEAST && high - low >= far;
}

static bool is_unknown(struct jp_codes *codes, const struct jp_places_process *process,
		       const struct jp_stack *stack)
{
	for (uint64_t i = 0; i < stack->count && stack->frames[i] < JP_CONTEXT_MAX; i++)
		if (jp_places_at(codes->places, process, stack->frames[i])->place !=
		    JP_PLACE_UNMAPPED)
			return false;
	return true;
}

/* Largest number of addresses in a repeated sequence: emitted code that is recursive through a few
 * functions, or a frame pointer that leads to itself. */
enum { PERIODS = 4 };

/* Returns whether the outer half of @stack, or more, repeats a sequence of a few addresses. */
static bool repeats_in_circle(const struct jp_stack *stack)
{
	for (uint64_t period = 1; period <= PERIODS; period++) {
		uint64_t i = stack->count;

		while (i > period && stack->frames[i - 1] == stack->frames[i - 1 - period])
			i--;
		if (i * 2 < stack->count)
			return true;
	}
	return false;
}

/* Returns whether an address repeats among the innermost frames of @stack. */
static bool is_recursion(const struct jp_stack *stack)
{
	enum { NEAR = 16 };

	for (uint64_t i = 1; i < NEAR; i++)
		for (uint64_t period = 1; period <= PERIODS && i + period < stack->count; period++)
			if (stack->frames[i] == stack->frames[i + period])
				return true;
	return false;
}

void jp_end_of_chain(struct jp_codes *codes, const struct jp_places_process *process,
		     const struct jp_stack *stack, struct jp_ending *ending)
{
	enum jp_code_kind code = JP_CODE_NONE;
	const uint64_t nr_good = skip_mapped_frames(codes, process, stack, 0, &code, ending);

	note_top_frames(codes, process, stack, ending);
	if (nr_good < stack->count && is_possible(stack->frames[nr_good]) &&
	    ends_at_root(codes, process, stack)) {
		ending->kind = nr_good ? JP_END_CALLER : JP_END_UNMAPPED;
		ending->addr = stack->frames[nr_good];
		ending->file = true;
		return;
	}
	if (!nr_good) {
		ending->kind = JP_END_UNMAPPED;
		ending->addr = stack->frames[0];
		if (stack->count > 1 && is_possible(stack->frames[1]))
			ending->next = stack->frames[1];
		ending->far = is_spread_too_far(stack) && is_unknown(codes, process, stack);
		return;
	}
	ending->addr = stack->frames[nr_good - 1];
	ending->next = nr_good < stack->count ? stack->frames[nr_good] : 0;
	ending->nr_next = stack->count - nr_good;
	if (stack->stop == JP_UNWIND_NO_DATA)
		ending->kind = JP_END_KINDS;
	else if (nr_good == 1)
		ending->kind = JP_END_SINGLE;
	else if (nr_good == stack->count && stack->stop == JP_UNWIND_MAX_STACK &&
		 code != JP_CODE_LIBC)
		ending->kind = JP_END_FULL;
	else
		ending->kind = JP_END_HERE;
	ending->circle =
		ending->kind == JP_END_FULL && code == JP_CODE_EMITTED && repeats_in_circle(stack);
	ending->recursion = ending->kind == JP_END_HERE && ending->emitted && is_recursion(stack);
}

bool jp_is_return_probe(uint64_t addr)
{
	enum { PAGE = 4096 };

	return addr + 1 == (UINT64_C(1) << 47) - 2 * PAGE || /* x86_64 */
	       addr + 1 == (UINT64_C(1) << 48) - PAGE;       /* arm64 */
}

void jp_end_of_dump(struct jp_codes *codes, const struct jp_places_process *process,
		    const struct jp_stack *stack, struct jp_ending *ending)
{
	static const enum jp_end_kind kinds[JP_UNWIND_STOPS] = {
		[JP_UNWIND_ROOT] = JP_END_ROOT,        [JP_UNWIND_MAX] = JP_END_ROOT,
		[JP_UNWIND_UNMAPPED] = JP_END_ODD,     [JP_UNWIND_NO_ELF] = JP_END_NO_FILE,
		[JP_UNWIND_NO_CFI] = JP_END_NO_CFI,    [JP_UNWIND_BAD_FRAME] = JP_END_ODD,
		[JP_UNWIND_BAD_CFI] = JP_END_ODD,      [JP_UNWIND_DUMP_END] = JP_END_DUMP,
		[JP_UNWIND_DUMP_SHORT] = JP_END_EMPTY, [JP_UNWIND_NO_DATA] = JP_END_EMPTY,
	};
	enum jp_code_kind code = JP_CODE_NONE;
	uint64_t nr_good = 0;

	ending->kind = kinds[stack->stop];
	ending->addr = stack->where ? stack->where : stack->frames[stack->count - 1];
	while (nr_good < stack->count) {
		nr_good = skip_mapped_frames(codes, process, stack, nr_good, &code, ending);
		nr_good++;
	}
	/* Memory whose record states no execution has no ELF file either. */
	if (stack->stop != JP_UNWIND_UNMAPPED &&
	    (stack->stop != JP_UNWIND_NO_ELF ||
	     jp_places_at(codes->places, process, ending->addr)->place != JP_PLACE_UNMAPPED))
		return;
	/* A walk by call frame information is reliable, so the address where it ended is code. */
	ending->kind = jp_is_return_probe(ending->addr) ? JP_END_NO_CFI : JP_END_UNMAPPED;
	if (stack->other && stack->other->count && ends_at_root(codes, process, stack->other))
		ending->file = true;
}

/* Returns whether @addr is in the code of a file, not in emitted code, which the chain shows. */
static bool is_in_file(struct jp_codes *codes, const struct jp_places_process *process,
		       uint64_t addr)
{
	struct jp_stretch *stretch = jp_places_at(codes->places, process, addr);
	enum jp_code_kind code;

	if (stretch->place == JP_PLACE_UNMAPPED)
		return false;
	code = jp_code_at(codes, process, stretch);
	return code == JP_CODE_FILE || code == JP_CODE_PROGRAM;
}

bool jp_end_of_dump_beside(struct jp_codes *codes, const struct jp_places_process *process,
			   const struct jp_stack *chain, struct jp_ending *ending)
{
	const struct jp_stack *stack = chain->other;

	if (!stack || !stack->count)
		return false;
	ending->addr = stack->where ? stack->where : stack->frames[stack->count - 1];
	switch (stack->stop) {
	case JP_UNWIND_NO_ELF:
		ending->kind = JP_END_NO_FILE;
		return true;
	case JP_UNWIND_NO_CFI:
		ending->kind = JP_END_NO_CFI;
		return is_in_file(codes, process, ending->addr);
	case JP_UNWIND_DUMP_END:
		ending->kind = JP_END_DUMP;
		return true;
	case JP_UNWIND_DUMP_SHORT:
		ending->kind = JP_END_EMPTY;
		return true;
	default:
		return false;
	}
}
