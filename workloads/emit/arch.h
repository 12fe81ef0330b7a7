/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/format/truth/format.h"

/* Interface that workloads/arch/ implements, with one file for each architecture. */

enum jp_shape {
	JP_SHAPE_FP,       /* push bp; mov bp,sp */
	JP_SHAPE_LEAF,     /* no frame, calls nothing */
	JP_SHAPE_NO_FP,    /* a frame without a frame pointer; calls the next function */
	JP_SHAPE_LONG,     /* frame pointer, with a long prologue and epilogue */
	JP_SHAPE_LARGE,    /* frame pointer, several KiB of locals */
	JP_SHAPE_REALIGN,  /* frame pointer, stack pointer aligned down to 64 bytes */
	JP_SHAPE_HUGE,     /* frame pointer, more locals than any stack dump holds */
	JP_SHAPE_HOLLOW,   /* like HUGE, but nothing touches most pages of the locals */
	JP_SHAPE_OTHER_BP, /* no frame pointer: the register holds the function's word */
	JP_SHAPE_TAIL,     /* frame pointer; ends with a jump to the next function */
	JP_SHAPE_STUB,     /* only a jump, as in a procedure linkage table; never innermost */
	JP_SHAPE_MISLED,   /* no frame pointer; according to its call frame information, if any, the
			      word is the return address */
	JP_SHAPE_SYSCALL,  /* frame pointer; innermost, makes system calls */
	JP_SHAPE_CLOCK,    /* frame pointer; calls clock_gettime() at the address in its word */
	JP_SHAPES,
	JP_SHAPES_USUAL = JP_SHAPE_REALIGN + 1 /* the shapes of ordinary programs */
};

/* Parameters of one function of a path. The function gets a pointer to its own step. */
struct jp_path_step {
	uint64_t code;   /* address of this step's function */
	uint64_t before; /* iterations of its loop before it calls the next step, >= 1 */
	uint64_t after;  /* iterations after the last call, >= 1 */
	uint64_t repeat; /* how often it runs `before` and the call, >= 1 */
};                       /* the code of the last step is 0 and marks the end of the path */

struct jp_emitted {
	uint32_t size;
	uint32_t word; /* offset of the function's word; 0: none */
	/* Offset of the first instruction that finds the frame record stored. 0: the machine stores
	 * it when it makes room for it. */
	uint32_t saved_at;
	struct jp_truth_insn insns[256];
	uint32_t nr_insns;
};
struct jp_code;
/* Functions that write the code of each shape with the helpers of workloads/emit/code.h. */
extern void (*const jp_arch_shapes[JP_SHAPES])(struct jp_code *code);
/* The ELF machine and its flags, the DWARF numbers of its registers, the bytes of stack that a call
 * itself uses, from the called function's sp to its canonical frame address, the bytes from a frame
 * record to the address in the frame pointer, whether a return address of 0 ends the kernel's
 * chain, and the mask of the bits of a return address that may be its signature. */
struct jp_arch_elf {
	uint16_t machine;
	uint32_t flags;
	uint8_t sp, bp, return_address;
	uint8_t pushed, fp_above;
	bool zero_ends;
	uint64_t signature;
};
extern const struct jp_arch_elf jp_arch_elf;
/* Offset from the canonical frame address to the saved frame pointer in a frame with a frame
 * pointer. The return address lies above it. */
enum { JP_FRAME_RECORD = -2 * (int)sizeof(uintptr_t) };
/* Returns whether the kernel's frame-pointer rule reads the frame at @fp after the one at @from (0:
 * @fp is the first). */
int jp_arch_accepts_frame(uint64_t fp, uint64_t from);
/* Calls steps[0].code(steps) from a native frame that has both a frame pointer and call frame
 * information. Before that, calls announce(context, sp, bp) from the same frame, with the stack and
 * frame pointer that steps[0].code will find at its first instruction. */
typedef void (*jp_arch_announce)(void *context, uint64_t sp, uint64_t bp);
/* Runs the path on @stack, the top of another stack, aligned to 16 bytes, or on the current stack
 * if NULL. */
void jp_arch_enter(const struct jp_path_step *steps, jp_arch_announce announce, void *context,
		   void *stack);
/* Address after the call in jp_arch_enter(): the return address of the outermost emitted
 * function. */
extern const char jp_arch_enter_return[];
/* Calls the function in a step's `before`, which has no arguments; serves as the code of such a
 * step. It has a frame pointer and call frame information. */
void jp_arch_call_out(void);
/* Stores where the signal that passed @ucontext to its handler interrupted the thread. */
void jp_arch_read_interrupted(const void *ucontext, uint64_t *ip, uint64_t *sp);
/* Clears the frame pointer in a context for makecontext(), so that its stack has no caller. */
void jp_arch_clear_fp(void *ucontext);
/* Reads the registers of a stopped traced child. Returns 0 or -errno. */
int jp_arch_read_traced(int pid, uint64_t *ip, uint64_t *sp, uint64_t *bp);
