/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Functions of known instructions: outer calls a middle, which calls a leaf. They are in this
 * program's file, so that uprobes find them. One file for each machine. */

typedef void (*jp_code)(void);

/* Calls @middle from a function with a frame pointer. */
void jp_code_outer(jp_code middle, jp_code leaf);
/* Calls the leaf of jp_code_outer(), with a frame pointer. */
void jp_code_middle(void);
/* Calls the leaf of jp_code_outer(), without a frame pointer. */
void jp_code_middle_plain(void);

/* Calls @leaf on a stack of its own that ends at @top, eight bytes below. */
void jp_code_on_stack(void *top, jp_code leaf);

/* Leaves, and instructions in them. */
void jp_code_leaf(void); /* with a frame pointer; runs anywhere */
extern const char jp_code_leaf_pushed[], jp_code_leaf_body[], jp_code_leaf_ret[],
	jp_code_leaf_end[];
void jp_code_plain(void); /* without a frame pointer */
extern const char jp_code_plain_body[];
/* Begins with endbr64. */
void jp_code_endbr(void);
/* Begins with a nop of five bytes. */
void jp_code_nop5(void);
/* Begins with a nop of ten bytes. */
void jp_code_nop10(void);
/* Uses jp_code_frame as its frame pointer. */
void jp_code_odd(void);
extern const char jp_code_odd_body[];
extern uint64_t jp_code_frame;
void jp_code_trap(void); /* raises SIGTRAP, with a frame pointer */
/* Calls itself @depth times; the innermost call has the body. */
void jp_code_deep(uint64_t depth);
extern const char jp_code_deep_body[];

/* perf's numbers of two user registers in leaf's body: the instruction pointer, and a register that
 * still holds the address of outer's middle, called @name. */
extern const struct jp_code_registers {
	unsigned int ip, middle;
	const char *name;
} jp_code_registers;

/* Returns the instruction that a signal's handler with @ucontext interrupted. */
uint64_t jp_code_interrupted(const void *ucontext);

/* Code for a program of its own, which runs anywhere. One calls exit(0); the other first calls
 * brk(0), and brk() with one, two and three pages more. */
extern const char jp_code_exit[], jp_code_exit_end[], jp_code_brk[], jp_code_brk_end[];

/* Returns the name of the function at @addr, or NULL. */
const char *jp_code_name(uint64_t addr);
