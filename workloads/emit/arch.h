/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "harness/format/truth/format.h"

/* What one file of workloads/arch/ gives for each architecture. */

enum jp_shape {
	JP_SHAPE_FP,       /* push bp; mov bp,sp */
	JP_SHAPE_LEAF,     /* no frame, calls nothing */
	JP_SHAPE_NO_FP,    /* a frame without frame pointer, in the middle of a path */
	JP_SHAPE_LONG,     /* frame pointer after a long prologue, long epilogue */
	JP_SHAPE_LARGE,    /* frame pointer, some KiB of locals */
	JP_SHAPE_REALIGN,  /* frame pointer, stack pointer aligned down to 64 */
	JP_SHAPE_HUGE,     /* frame pointer, more locals than any stack dump holds */
	JP_SHAPE_HOLLOW,   /* the same, and nothing ever touches most of its pages */
	JP_SHAPE_OTHER_BP, /* no frame pointer, and the word in its register */
	JP_SHAPE_TAIL,     /* frame pointer; leaves by a jump to the next function */
	JP_SHAPE_STUB,   /* nothing but that jump, as in a procedure linkage table; not innermost */
	JP_SHAPE_MISLED, /* no frame pointer; call frame information takes the word for its return
			  * address, where there is any */
	JP_SHAPE_SYSCALL, /* frame pointer; innermost, makes system calls */
	JP_SHAPE_CLOCK,   /* frame pointer; calls clock_gettime() at its word */
	JP_SHAPES,
	JP_SHAPES_USUAL = JP_SHAPE_REALIGN + 1 /* those before are what programs are made of */
};

/* What one function of a path gets when it runs; the function gets a pointer to its own step. */
struct jp_path_step {
	uint64_t code;   /* address of this step's function */
	uint64_t before; /* turns of its loop before the call of the next step, >= 1 */
	uint64_t after;  /* after the last call, >= 1 */
	uint64_t repeat; /* how often `before` and the call happen, >= 1 */
};                       /* the path ends with a step whose code is 0 */

struct jp_emitted {
	uint32_t size;
	uint32_t word; /* place of its word; 0: none */
	struct jp_truth_insn insns[256];
	uint32_t nr_insns;
};
struct jp_code;
/* Each writes a function of its shape with what workloads/emit/code.h gives. */
extern void (*const jp_arch_shapes[JP_SHAPES])(struct jp_code *code);
/* What the machine is called in ELF, its registers in DWARF, and how many bytes of stack a call
 * takes by itself: those from a function's sp to its canonical frame address. */
struct jp_arch_elf {
	uint16_t machine;
	uint8_t sp, bp, return_address;
	uint8_t pushed;
};
extern const struct jp_arch_elf jp_arch_elf;
/* A frame that has a frame pointer: the caller's lies there, from the canonical frame address, and
 * the return address above it. */
enum { JP_FRAME_RECORD = -16 };
/* Whether the kernel's frame-pointer rule reads what lies at @fp, after @from (0: it starts there).
 */
int jp_arch_follows(uint64_t fp, uint64_t from);
/*
 * Calls steps[0].code(steps) with a native frame that has both a frame pointer and call frame
 * information. Before that, and from the same frame, announce(context, sp, bp) with the stack and
 * frame pointer that steps[0].code will find at its first instruction.
 */
typedef void (*jp_arch_announce)(void *context, uint64_t sp, uint64_t bp);
/* @stack: the top, aligned to 16, of another stack to run on; NULL: this one. */
void jp_arch_enter(const struct jp_path_step *steps, jp_arch_announce announce, void *context,
		   void *stack);
/* Address just after the call in jp_arch_enter(): the outermost emitted function's return address.
 */
extern const char jp_arch_enter_return[];
/* A step's code that calls its `before`, a function without arguments, for any reason that native
 * code may have; with a frame pointer and call frame information. */
void jp_arch_call_out(void);
/* Where a signal's handler, which gets @ucontext, has interrupted its thread. */
void jp_arch_interrupted(const void *ucontext, uint64_t *ip, uint64_t *sp);
/* A context that makecontext() is about to get starts with no frame above. */
void jp_arch_outermost(void *ucontext);
/* The registers of a traced child that stopped. 0 or -errno. */
int jp_arch_traced(int pid, uint64_t *ip, uint64_t *sp, uint64_t *bp);
