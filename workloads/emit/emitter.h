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
/* Returns the offset, in a function of @shape, of the instruction after its call; 0: it makes no
 * call. */
uint32_t jp_shape_returns(enum jp_shape shape);

/* Alignment of functions, in bytes. */
enum { JP_CODE_ALIGN = 16 };
struct jp_function {
	uint32_t id, layout; /* ids of the function and of its layout in the truth */
	enum jp_shape shape;
	enum jp_cfi_status cfi_status; /* status of the call frame information of its frames */
	uint64_t code, size;
	uint64_t word;    /* value of its word (workloads/emit/arch.h) */
	uint32_t word_at; /* offset of the word from the first instruction; 0: no word */
	uint32_t frames;  /* id of the truth's record about its frames; 0: none */
};

/* Emits one function into @arena; the truth records its load, and its layout if it is the first
 * function of @shape in this process. Returns 0 or -errno (-ENOSPC: the arena is full). */
int jp_emit(struct jp_arena *arena, enum jp_shape shape, const char *name,
	    struct jp_function *function);
/* The two halves of jp_emit(), for a runtime that makes code executable in between and publishes it
 * afterwards. Threads may call both at once, each with an arena of its own. */

/* Writes the code of one function into @arena. Returns 0 or -errno. */
int jp_emit_write(struct jp_arena *arena, enum jp_shape shape, struct jp_function *function);
/* Records and publishes the function as @name. A number at the end of @name makes it unique among
 * all processes. Returns 0 or -errno. */
int jp_emit_load(const struct jp_function *function, const char *name);
/* Makes new functions of a forked child get names that no other process uses. Inherited functions
 * keep their names. Call it in the child. */
void jp_emit_use_new_names(void);
/* Sets the word of @function, after jp_emit_write() and before jp_emit_load(). The word may be in
 * the frame pointer's register, where a frame-pointer walk starts, so this function also records
 * where such a walk leads. Returns 0, or -EINVAL if the shape has no word. */
int jp_emit_set_word(struct jp_arena *arena, struct jp_function *function, uint64_t word);
/* Records in the truth, without publishing it, @function, whose code was placed at its address by
 * other means (such as a loaded file) within [@before, @after] (ns). Returns 0 or -errno. */
int jp_emit_record(struct jp_function *function, const char *name, uint64_t before, uint64_t after);
/* Does the same as jp_emit_record() for a function that exists now and whose layout was measured
 * (workloads/emit/measure.h). It may have instructions that were not measured. */
void jp_emit_record_measured(struct jp_function *function, const struct jp_emitted *emitted,
			     const char *name);
/* Records that an operation within [@before, @after] (ns) moved the function to @to. Returns 0 or
 * -errno. */
int jp_emit_move(struct jp_function *function, uint64_t to, uint64_t before, uint64_t after);
