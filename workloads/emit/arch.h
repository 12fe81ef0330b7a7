/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "harness/format/truth/format.h"

/* Interface to an architecture, which one file of workloads/arch/ implements. A shape is a kind of
 * function, by its frame layout. Functions of some shapes have a word: 8 bytes after their code,
 * which they load. */

enum jp_shape {
	JP_SHAPE_FP,       /* push bp; mov bp,sp */
	JP_SHAPE_LEAF,     /* no frame, calls nothing */
	JP_SHAPE_NO_FP,    /* a frame without a frame pointer; calls the next function */
	JP_SHAPE_LONG,     /* frame pointer, with a long prologue and epilogue */
	JP_SHAPE_LARGE,    /* frame pointer, several KiB of locals */
	JP_SHAPE_REALIGN,  /* frame pointer, stack pointer aligned down to 64 bytes */
	JP_SHAPE_HUGE,     /* frame pointer, more locals than any stack dump holds */
	JP_SHAPE_HOLLOW,   /* like HUGE, but nothing touches most pages of the locals */
	JP_SHAPE_OTHER_BP, /* no frame pointer: its register holds the function's word */
	JP_SHAPE_TAIL,     /* frame pointer; ends with a jump to the next function */
	JP_SHAPE_STUB,     /* only a jump, as in a procedure linkage table; never innermost */
	JP_SHAPE_MISLED,   /* no frame pointer; according to its call frame information, if any, the
			      word is the return address */
	JP_SHAPE_SYSCALL,  /* frame pointer; innermost, makes system calls */
	JP_SHAPE_CLOCK,    /* frame pointer; calls clock_gettime() at the address in its word */
	JP_SHAPES,
	JP_SHAPES_USUAL = JP_SHAPE_REALIGN + 1 /* the shapes of ordinary programs */
};

/* One function of a path, and its parameters. The function gets a pointer to its own step. */
struct jp_path_step {
	uint64_t code;         /* address of this step's function */
	uint64_t loops_before; /* iterations of its loop before it calls the next step, >= 1 */
	uint64_t loops_after;  /* iterations after the last call, >= 1 */
	uint64_t repeat;       /* how often it runs `before` and the call, >= 1 */
};                             /* a step with code 0 marks the end of the path */

struct jp_emitted {
	uint32_t size;
	uint32_t word; /* offset of the function's word; 0: none */
	/* Offset of the first instruction at which the frame record (saved frame pointer and return
	 * address) is stored. 0: the machine stores the record when it makes room for it. */
	uint32_t saved_at;
	struct jp_truth_insn insns[256];
	uint32_t nr_insns;
};
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
 * pointer. The return address lies above the saved frame pointer. */
enum { JP_FRAME_RECORD = -2 * (int)sizeof(uintptr_t) };
/* Returns whether the kernel's frame-pointer rule accepts the frame record at @fp after the record
 * at @from (0: @fp is the first). */
int jp_arch_accepts_frame(uint64_t fp, uint64_t from);
/* Called by jp_arch_enter() from the native frame that will call the path: @sp and @bp are the
 * stack and frame pointer that the path's first function will find at its first instruction. */
typedef void (*jp_arch_announce)(void *context, uint64_t sp, uint64_t bp);
/* Runs the path @steps: calls announce(context, sp, bp), then steps[0].code(steps), from a native
 * frame that has both a frame pointer and call frame information. @stack: top of another stack to
 * run the path on, aligned to 16 bytes; NULL: the current stack. */
void jp_arch_enter(const struct jp_path_step *steps, jp_arch_announce announce, void *context,
		   void *stack);
/* Address after the call in jp_arch_enter(): the return address of the outermost emitted
 * function. */
extern const char jp_arch_enter_return[];
/* Serves as the code of a step whose `before` is the address of a function without arguments: calls
 * that function. Has a frame pointer and call frame information. */
void jp_arch_call_out(void);
/* Stores in *@ip and *@sp where the signal that passed @ucontext to its handler interrupted the
 * thread. */
void jp_arch_read_interrupted(const void *ucontext, uint64_t *ip, uint64_t *sp);
/* Clears the frame pointer in @ucontext, a context for makecontext(), so that frame-pointer walks
 * end at the context's first function. */
void jp_arch_clear_fp(void *ucontext);
/* Reads the registers of a stopped traced child. Returns 0 or -errno. */
int jp_arch_read_traced(int pid, uint64_t *ip, uint64_t *sp, uint64_t *bp);
