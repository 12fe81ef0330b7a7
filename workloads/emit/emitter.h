/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "workloads/emit/arch.h"
#include "workloads/emit/arena.h"

/* Emits functions of known frame layout. */
const char *jp_shape_text(enum jp_shape shape);
/* Whether a function of @shape can be within a path, and at its inner end. */
int jp_shape_calls(enum jp_shape shape);
int jp_shape_ends(enum jp_shape shape);
/* Where its call returns to, from its code; 0: it makes none. */
uint32_t jp_shape_returns(enum jp_shape shape);

struct jp_function {
	uint32_t id, layout; /* in the truth */
	enum jp_shape shape;
	enum jp_cfi_status cfi_status; /* of its frames */
	uint64_t code, size;
	uint64_t word;    /* the one that it was given */
	uint32_t word_at; /* from its code; 0: its shape has none */
	uint32_t frames;  /* in the truth */
};

/* Emits one function into @arena and records layout (once per shape and process) and load. 0 or
 * -errno (-ENOSPC: the arena is full). */
int jp_emit(struct jp_arena *arena, enum jp_shape shape, const char *name,
	    struct jp_function *function);
/* The two halves of that: writing it, and telling that it is there. A runtime that makes code
 * executable in between tells of it after the kernel did. Both publish what they tell. Threads may
 * call at once, on arenas of their own. No other process calls a function as this one does: the
 * name that is told of ends in a number of its own. 0 or -errno. */
int jp_emit_write(struct jp_arena *arena, enum jp_shape shape, struct jp_function *function);
int jp_emit_load(const struct jp_function *function, const char *name);
/* In a forked child: what it has inherited keeps its name, what it makes is its own. */
void jp_emit_forked(void);
/* In between: gives it its word, which may be the start of what the frame-pointer rule meets: it is
 * followed now. 0, or -EINVAL where its shape has none. */
int jp_emit_word(struct jp_arena *arena, struct jp_function *function, uint64_t word);
/* Tells of code that someone else put there within [@before, @after]: only the truth. 0 or -errno.
 */
int jp_emit_found(struct jp_function *function, const char *name, uint64_t before, uint64_t after);
/* The same of one whose layout was measured (workloads/emit/measure.h), and may have more
 * instructions.
 */
void jp_emit_measured(struct jp_function *function, const struct jp_emitted *emitted,
		      const char *name);
/* It was moved to @to, or is gone, by an act within [@before, @after]. */
int jp_emit_move(struct jp_function *function, uint64_t to, uint64_t before, uint64_t after);
void jp_emit_unload(const struct jp_function *function, uint64_t before, uint64_t after);
