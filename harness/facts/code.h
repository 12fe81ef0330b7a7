/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdint.h>

/* Functions in assembly, whose instructions are known: jp_code_outer() calls a "middle" function,
 * which calls a "leaf" function. They are in this program's file, so that uprobes can be set on
 * them. There is one .c file for each machine. */

typedef void (*jp_code)(void);

/* Macros of the assembler: "begin NAME" and "end NAME" enclose a function, and "label NAME" marks a
 * place in it. */
#define JP_CODE_MACROS                                                                             \
	".macro label name\n.globl jp_code_\\name\njp_code_\\name:\n.endm\n"                       \
	".macro begin name\n.balign 16\nlabel \\name\n.endm\n"                                     \
	".macro end name\nlabel \\name\\()_end\n.endm\n"

/* Calls @middle, which calls @leaf, from an "outer" function with a frame pointer. */
void jp_code_outer(jp_code middle, jp_code leaf);
/* Calls the leaf of jp_code_outer(), from a middle function with a frame pointer. */
void jp_code_middle(void);
/* Calls the leaf of jp_code_outer(), from a middle function without a frame pointer. */
void jp_code_middle_plain(void);

/* Calls @leaf on another stack, whose first used word is eight bytes below @top. */
void jp_code_on_stack(void *top, jp_code leaf);

/* Serves as a leaf with a frame pointer; position-independent. Instructions in it follow. */
void jp_code_leaf(void);
extern const char jp_code_leaf_pushed[], jp_code_leaf_body[], jp_code_leaf_ret[],
	jp_code_leaf_end[];
void jp_code_plain(void); /* a leaf without a frame pointer */
extern const char jp_code_plain_body[];
/* Serves as a leaf that begins with endbr64. */
void jp_code_endbr(void);
/* Serves as a leaf that begins with a nop of five bytes. */
void jp_code_nop5(void);
/* Serves as a leaf that begins with a nop of ten bytes. */
void jp_code_nop10(void);
/* Serves as a leaf whose frame pointer is the value of jp_code_frame. */
void jp_code_odd(void);
extern const char jp_code_odd_body[];
extern uint64_t jp_code_frame;
void jp_code_trap(void); /* a leaf with a frame pointer that raises SIGTRAP */
/* Calls itself @depth times; only the innermost call executes jp_code_deep_body. */
void jp_code_deep(uint64_t depth);
extern const char jp_code_deep_body[];

/* perf's numbers of two user registers: the instruction pointer, and a register, called @name, that
 * at jp_code_leaf_body still holds the address of the middle function. */
extern const struct jp_code_registers {
	unsigned int ip, middle;
	const char *name;
} jp_code_registers;

/* Returns the address of the instruction that a signal interrupted, from the @ucontext of its
 * handler. */
uint64_t jp_code_interrupted(const void *ucontext);

/* Position-independent code of two whole programs. jp_code_exit calls exit(0). jp_code_brk first
 * calls brk(0), and then brk() with one, two and three pages more. */
extern const char jp_code_exit[], jp_code_exit_end[], jp_code_brk[], jp_code_brk_end[];

/* Returns the name of the function above that contains @addr, or NULL. */
const char *jp_code_name(uint64_t addr);
