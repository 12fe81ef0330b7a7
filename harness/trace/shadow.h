/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/model/machine/machine.h"

/*
 * A shadow stack: the calls and returns that were seen, instruction by instruction. For each
 * function that a seen call entered, it knows where the return address lies and which one it is.
 * Claims nothing about a function whose frame something else than calls and returns may have
 * changed.
 */

/* What makes frames uncertain, or is no call and no return. */
enum jp_shadow_event {
	JP_SHADOW_NOTHING,
	JP_SHADOW_LEFT, /* frames left without their return: longjmp, exception, popped address */
	JP_SHADOW_CHANGED,  /* a return address was overwritten: deoptimization, probes */
	JP_SHADOW_JUMP,     /* a return that jumps elsewhere: deoptimization, trampolines */
	JP_SHADOW_STACK,    /* the stack was switched: coroutines, fibers */
	JP_SHADOW_SIGNAL,   /* a signal handler ran */
	JP_SHADOW_TAIL,     /* a jump to another function in place of the current one */
	JP_SHADOW_REPLACED, /* a jump into another function that keeps the frame: on-stack
			       replacement */
	JP_SHADOW_FULL,     /* more frames than the limit, or no memory */
	JP_SHADOW_EVENTS
};
/* Returns a short description, or the word for it in files. */
const char *jp_shadow_event_text(enum jp_shadow_event event);
const char *jp_shadow_event_word(enum jp_shadow_event event);

struct jp_shadow_frame {
	uint64_t at;    /* address of the return address: the stack pointer at the entry */
	uint64_t ret;   /* return address */
	uint64_t start; /* entry */
	uint64_t fp;    /* frame pointer at the entry */
	enum jp_shadow_event doubt; /* why nothing is claimed; NOTHING: the frame is certain */
	bool signal;                /* the registers that the kernel saved for a signal handler */
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
	uint64_t size;             /* readable ones */
};

/* Returns the innermost frame if it is certain, else NULL. */
const struct jp_shadow_frame *jp_shadow_top(const struct jp_shadow *shadow);
/* Applies one instruction, which led from @before to @after. */
void jp_shadow_step(struct jp_shadow *shadow, const struct jp_shadow_state *before,
		    const struct jp_shadow_state *after);
/* Applies the start of a signal handler at @after, which interrupted the thread at @before. */
void jp_shadow_signal(struct jp_shadow *shadow, const struct jp_shadow_state *before,
		      const struct jp_shadow_state *after);
/* Makes the innermost frame uncertain, and counts @event. */
void jp_shadow_doubt(struct jp_shadow *shadow, enum jp_shadow_event event);
/* Forgets all frames, and keeps the counts. */
void jp_shadow_clear(struct jp_shadow *shadow);
void jp_shadow_free(struct jp_shadow *shadow);
