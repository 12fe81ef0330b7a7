/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "harness/format/event.h"
#include "harness/format/perfdata/machine.h"

/* Reads the word at @addr of the walked stack into *@value. Returns false if the stack dump lacks
 * it. */
typedef bool (*jp_stack_load)(void *context, uint64_t addr, uint64_t *value);

enum jp_frame_answer {
	JP_FRAME_STEPPED,
	JP_FRAME_BAD,    /* the frame pointer leads nowhere: below sp, unaligned, unknown */
	JP_FRAME_BEYOND, /* the frame pointer points above what the dump contains */
	JP_FRAME_END,    /* the frame pointer is zero, which marks the outermost frame in the ABI */
};

/* Frame layout of an architecture, for unwinding and judging. Registers have DWARF's numbers. */
struct jp_machine_frames {
	bool narrow;      /* words have 4 bytes, not 8 */
	uint8_t pushed;   /* number of bytes that a call instruction pushes; 0: it puts the return
			     address in a register, which the called function may store */
	int8_t return_at; /* offset of a framed function's return address from its stack pointer at
			     entry */
	uint8_t fp;       /* number of the frame pointer register */
	uint8_t fp_above; /* distance in bytes from a frame record to the address in the frame
			     pointer */
	uint32_t saved;   /* mask of callee-saved registers */
	uint64_t signature; /* mask of the bits of a return address that may be its signature
			       (pointer authentication), which the kernel removes from callchains */
	bool upwards;       /* the kernel follows a frame pointer only to a higher address */
	bool link_first;    /* the first caller in the kernel's callchain is the address in the link
			       register, regardless of the first frame record */
	uint8_t undumped; /* largest number of bytes before an absent page that the kernel's copy of
			     a stack may leave out */
	/* Returns whether the first @at bytes of @code may end with a call instruction. */
	bool (*follows_call)(const unsigned char *code, uint64_t at);
	/* Returns whether the first @at bytes of @code may end with a direct call. Stores in
	 * *@distance the distance from the call's end to its target. */
	bool (*follows_direct_call)(const unsigned char *code, uint64_t at, int64_t *distance);
	/* Returns whether the @size bytes of @code begin with a return. */
	bool (*returns)(const unsigned char *code, uint64_t size);
	/* Returns whether the @size bytes of @code, at a return address, pass the result of the
	 * call to another function, as a C library passes main()'s to exit(). NULL: not known. */
	bool (*passes_result)(const unsigned char *code, uint64_t size);
	/* Returns whether the @size bytes of @code begin with an instruction that allocates
	 * stack: it moves the stack pointer by a constant distance and does not switch to
	 * another stack. */
	bool (*allocates)(const unsigned char *code, uint64_t size);
};

/* Steps to the caller by the frame-pointer rule: changes @regs. Callee-saved registers stay
 * known. */
enum jp_frame_answer jp_machine_step(struct jp_regs *regs, jp_stack_load load, void *context);

/* Returns the number of bytes in a word. */
static inline uint64_t jp_machine_word(const struct jp_machine_frames *frames)
{
	return frames->narrow ? 4 : 8;
}

/* Stores the user's instruction and stack pointer of @sample. Returns false if the sample does not
 * have these registers of @machine. A sample of a stream of observations has no registers: takes
 * @ip from the stack and stores 0 in @sp. */
bool jp_machine_user(const struct jp_machine *machine, const struct jp_event *sample, uint64_t *ip,
		     uint64_t *sp);
