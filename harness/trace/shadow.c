// SPDX-License-Identifier: GPL-2.0-only
#include "harness/trace/shadow.h"

#include <stdlib.h>

#include "harness/base/array.h"

enum {
	LONGEST = 15,     /* bytes of the longest instruction (Intel SDM, volume 2, 2.3.11) */
	FRAMES = 1 << 16, /* largest number of frames, in case a thread calls without end */
};

static const struct {
	const char *word, *text;
} events[JP_SHADOW_EVENTS] = {
	[JP_SHADOW_NOTHING] = {"none", "certain"},
	[JP_SHADOW_LEFT] = {"left", "left without a return (longjmp, exception)"},
	[JP_SHADOW_CHANGED] = {"changed-return", "return address overwritten (deoptimization)"},
	[JP_SHADOW_JUMP] = {"jump-by-return", "jump by a return (deoptimization, trampoline)"},
	[JP_SHADOW_STACK] = {"stack-switch", "stack switched (coroutine)"},
	[JP_SHADOW_SIGNAL] = {"signal", "signal handled"},
	[JP_SHADOW_TAIL] = {"tail-call", "tail call"},
	[JP_SHADOW_REPLACED] = {"replaced", "replaced on the stack"},
	[JP_SHADOW_FULL] = {"too-deep", "calls deeper than the limit"},
};

const char *jp_shadow_event_text(enum jp_shadow_event event)
{
	return events[event].text;
}

const char *jp_shadow_event_word(enum jp_shadow_event event)
{
	return events[event].word;
}

static struct jp_shadow_frame *get_innermost_frame(const struct jp_shadow *shadow)
{
	return shadow->count ? &shadow->frames[shadow->count - 1] : NULL;
}

const struct jp_shadow_frame *jp_shadow_get_innermost(const struct jp_shadow *shadow)
{
	const struct jp_shadow_frame *top = get_innermost_frame(shadow);

	return top && !top->doubt ? top : NULL;
}

void jp_shadow_mark_uncertain(struct jp_shadow *shadow, enum jp_shadow_event event)
{
	struct jp_shadow_frame *top = get_innermost_frame(shadow);

	shadow->events[event]++;
	if (top && !top->doubt)
		top->doubt = event;
}

void jp_shadow_clear(struct jp_shadow *shadow)
{
	shadow->count = 0;
}

void jp_shadow_free(struct jp_shadow *shadow)
{
	free(shadow->frames);
	*shadow = (struct jp_shadow){0};
}

static void push_frame(struct jp_shadow *shadow, const struct jp_shadow_frame *frame)
{
	struct jp_shadow_frame *added = NULL;

	if (shadow->count < FRAMES)
		added = jp_array_push(&shadow->frames, &shadow->count, &shadow->capacity);
	if (added) {
		*added = *frame;
		return;
	}
	jp_shadow_clear(shadow);
	shadow->events[JP_SHADOW_FULL]++;
}

static void push_entered(struct jp_shadow *shadow, const struct jp_shadow_state *state_before,
			 const struct jp_shadow_state *state_after)
{
	push_frame(shadow, &(struct jp_shadow_frame){
				   .ret_addr = state_after->sp,
				   .ret = state_after->top,
				   .start = state_after->ip,
				   .fp = state_after->fp,
			   });
}

/* Returns whether the instruction between @state_before and @state_after was a call: it pushed the
 * address of the instruction after it. */
static bool was_call(const struct jp_shadow *shadow, const struct jp_shadow_state *state_before,
		     const struct jp_shadow_state *state_after)
{
	const uint64_t size = state_after->top - state_before->ip;

	return state_after->sp == state_before->sp - shadow->machine->pushed && size &&
	       size <= LONGEST && size <= state_before->size &&
	       shadow->machine->follows_call(state_before->code, size);
}

/* Removes the frames whose return addresses lie below @sp. These functions were left without a
 * return, for instance by an exception, so the code that runs now may be in the middle of
 * unwinding: marks the innermost remaining frame as uncertain. Exception: a call to the next
 * instruction, which code uses to read its own address. */
static void leave_frames(struct jp_shadow *shadow, uint64_t sp)
{
	bool has_left = false;

	for (; shadow->count && get_innermost_frame(shadow)->ret_addr < sp; shadow->count--)
		has_left |= get_innermost_frame(shadow)->ret != get_innermost_frame(shadow)->start;
	if (has_left)
		jp_shadow_mark_uncertain(shadow, JP_SHADOW_LEFT);
}

/* Applies a return instruction. */
static void apply_return(struct jp_shadow *shadow, const struct jp_shadow_state *state_before,
			 const struct jp_shadow_state *state_after)
{
	const struct jp_shadow_frame *top = get_innermost_frame(shadow);

	if (!top)
		return;
	if (top->ret_addr != state_before->sp) {
		leave_frames(shadow, state_after->sp);
		jp_shadow_mark_uncertain(shadow, JP_SHADOW_JUMP);
		return;
	}
	shadow->returns++;
	shadow->count--;
	if (top->ret != state_after->ip)
		jp_shadow_mark_uncertain(shadow, JP_SHADOW_CHANGED);
}

/* Returns whether the thread returned from a signal handler to the interrupted code: the innermost
 * frame is a signal frame, and the stack pointer is the interrupted one. */
static bool leaves_handler(const struct jp_shadow *shadow,
			   const struct jp_shadow_state *state_after)
{
	const struct jp_shadow_frame *top = get_innermost_frame(shadow);

	return top && top->signal && state_after->sp == top->ret_addr;
}

void jp_shadow_step(struct jp_shadow *shadow, const struct jp_shadow_state *state_before,
		    const struct jp_shadow_state *state_after)
{
	if (leaves_handler(shadow, state_after)) {
		shadow->count--;
	} else if (was_call(shadow, state_before, state_after)) {
		shadow->calls++;
		push_entered(shadow, state_before, state_after);
	} else if (shadow->machine->returns(state_before->code, state_before->size)) {
		apply_return(shadow, state_before, state_after);
	} else if (state_after->sp > state_before->sp) {
		leave_frames(shadow, state_after->sp);
	} else if (state_before->sp - state_after->sp > shadow->machine->pushed &&
		   !shadow->machine->allocates(state_before->code, state_before->size)) {
		shadow->events[JP_SHADOW_STACK]++;
		jp_shadow_clear(shadow);
	}
}

void jp_shadow_signal(struct jp_shadow *shadow, const struct jp_shadow_state *state_before,
		      const struct jp_shadow_state *state_after)
{
	shadow->events[JP_SHADOW_SIGNAL]++;
	/* If the handler runs on its own stack at a higher address, stack pointers no longer show
	 * which frames were left. */
	if (state_after->sp >= state_before->sp)
		jp_shadow_clear(shadow);
	push_frame(shadow, &(struct jp_shadow_frame){.ret_addr = state_before->sp,
						     .doubt = JP_SHADOW_SIGNAL,
						     .signal = true});
	push_entered(shadow, state_before, state_after);
}
