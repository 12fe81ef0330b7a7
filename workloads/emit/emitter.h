/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "workloads/emit/arch.h"
#include "workloads/emit/arena.h"

/* Emits functions whose frame layout is known. */
const char *jp_shape_text(enum jp_shape shape);
/* Returns whether a function of @shape makes a call, so that it can be in the middle of a path. */
int jp_shape_calls(enum jp_shape shape);
/* Returns whether a function of @shape can be the innermost of a path. */
int jp_shape_ends(enum jp_shape shape);
/* Returns the offset of the return address of its call; 0: it makes no call. */
uint32_t jp_shape_returns(enum jp_shape shape);

/* Functions start at multiples of this, in bytes. */
enum { JP_CODE_ALIGN = 16 };
struct jp_function {
	uint32_t id, layout; /* ids in the truth */
	enum jp_shape shape;
	enum jp_cfi_status cfi_status; /* status of the call frame information of its frames */
	uint64_t code, size;
	uint64_t word;    /* the word that was passed to it */
	uint32_t word_at; /* offset in its code; 0: its shape has no word */
	uint32_t frames;  /* id in the truth */
};

/* Emits one function into @arena and records its layout (once for each shape and process) and its
 * load. Returns 0 or -errno (-ENOSPC: the arena is full). */
int jp_emit(struct jp_arena *arena, enum jp_shape shape, const char *name,
	    struct jp_function *function);
/* The two halves of jp_emit(), for a runtime that makes code executable in between and publishes it
 * afterwards. Threads may call both at once, each with an arena of its own. */

/* Writes the code of one function into @arena. Returns 0 or -errno. */
int jp_emit_write(struct jp_arena *arena, enum jp_shape shape, struct jp_function *function);
/* Records and publishes the function as @name. A number at the end of @name makes it unique among
 * all processes. Returns 0 or -errno. */
int jp_emit_load(const struct jp_function *function, const char *name);
/* Adapts a forked child: inherited functions keep their names, new ones get names of the child. */
void jp_emit_forked(void);
/* Sets the word of a function between the two halves of jp_emit(). The frame-pointer rule may
 * start at the word, so this function applies the rule. Returns 0, or -EINVAL if the shape has
 * no word. */
int jp_emit_set_word(struct jp_arena *arena, struct jp_function *function, uint64_t word);
/* Records in the truth, without publishing, code that someone else placed at its address within
 * [@before, @after] (ns). Returns 0 or -errno. */
int jp_emit_record(struct jp_function *function, const char *name, uint64_t before, uint64_t after);
/* Records code whose layout was measured (workloads/emit/measure.h) and may have more
 * instructions. */
void jp_emit_record_measured(struct jp_function *function, const struct jp_emitted *emitted,
			     const char *name);
/* Records that an operation within [@before, @after] (ns) moved the function to @to. Returns 0 or
 * -errno. */
int jp_emit_move(struct jp_function *function, uint64_t to, uint64_t before, uint64_t after);
