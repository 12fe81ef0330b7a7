/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/model/machine/machine.h"

/*
 * A shadow stack: built from the calls and returns that single steps show. For each function that
 * such a call entered, it knows the return address and where on the stack it lies. A frame that
 * something other than calls and returns may have changed is uncertain, and nothing is claimed
 * about it.
 */

/* Events that are neither a call nor a return. Most of them make frames uncertain. */
enum jp_shadow_event {
	JP_SHADOW_NOTHING,
	JP_SHADOW_LEFT, /* functions were left without a return: longjmp, exception, popped return
			   address */
	JP_SHADOW_CHANGED, /* a return address was overwritten: deoptimization, probes */
	JP_SHADOW_JUMP,    /* a return instruction jumped elsewhere: deoptimization, trampolines */
	JP_SHADOW_STACK,   /* the stack was switched: coroutines, fibers */
	JP_SHADOW_SIGNAL,  /* a signal handler ran */
	JP_SHADOW_TAIL,    /* tail call: a jump to another function that replaces the current one */
	JP_SHADOW_REPLACED, /* a jump into another function in the same frame: on-stack replacement
			     */
	JP_SHADOW_FULL,     /* more frames than the limit, or memory ran out */
	JP_SHADOW_EVENTS
};
/* Returns a short description of @event for people, or its name in files. */
const char *jp_shadow_event_text(enum jp_shadow_event event);
const char *jp_shadow_event_word(enum jp_shadow_event event);

struct jp_shadow_frame {
	uint64_t ret_addr; /* address of the return address: the stack pointer at the entry */
	uint64_t ret;      /* return address */
	uint64_t start;    /* address of the function's entry */
	uint64_t fp;       /* frame pointer at the entry */
	/* Why the frame is uncertain; JP_SHADOW_NOTHING: it is certain. */
	enum jp_shadow_event doubt;
	bool signal; /* not a function, but the registers that the kernel saved for a signal handler
		      */
};

struct jp_shadow {
	const struct jp_machine_frames *machine;
	struct jp_shadow_frame *frames; /* outermost first */
	size_t count, capacity;
	uint64_t events[JP_SHADOW_EVENTS], calls, returns;
};

/* The state of a thread before an instruction. */
struct jp_shadow_state {
	uint64_t ip, sp, fp;
	uint64_t top;              /* the word at @sp */
	const unsigned char *code; /* bytes at @ip */
	uint64_t size;             /* number of readable bytes at @code, or less */
};

/* Returns the innermost frame if it is certain, else NULL. */
const struct jp_shadow_frame *jp_shadow_get_innermost(const struct jp_shadow *shadow);
/* Applies one executed instruction: the thread was in state @state_before and is now in state
 * @state_after. */
void jp_shadow_step(struct jp_shadow *shadow, const struct jp_shadow_state *state_before,
		    const struct jp_shadow_state *state_after);
/* Applies the start of a signal handler: the thread was interrupted in state @state_before and is
 * now in state @state_after. */
void jp_shadow_signal(struct jp_shadow *shadow, const struct jp_shadow_state *state_before,
		      const struct jp_shadow_state *state_after);
/* Makes the innermost frame uncertain because of @event, and counts @event. */
void jp_shadow_mark_uncertain(struct jp_shadow *shadow, enum jp_shadow_event event);
/* Removes all frames, but keeps the counts of events. */
void jp_shadow_clear(struct jp_shadow *shadow);
void jp_shadow_free(struct jp_shadow *shadow);
