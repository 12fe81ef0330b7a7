/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "harness/model/machine/machine.h"

enum jp_cfi_answer {
	JP_CFI_STEPPED, /* the registers are now the caller's; ip and sp are known */
	JP_CFI_END,     /* this is the outermost frame: its return address is undefined */
	JP_CFI_NONE,    /* no usable rule for this address */
	JP_CFI_STACK,   /* the dump lacks memory that the rule reads */
	JP_CFI_SIGNAL,  /* the step left a signal frame: the registers are those of the interrupted
			   code, so look up their ip without subtracting 1 */
};

/* Operations of DWARF expressions in call frame information (PLT stubs, signal frames, realigned
 * stacks). Each has one canonical form here, with DWARF's number. */
enum jp_cfi_op_kind {
	JP_OP_PUSH = 0x10, /* push @value */
	JP_OP_DUP = 0x12,
	JP_OP_DROP = 0x13,
	JP_OP_PICK = 0x15, /* push a copy of the item @value below the top */
	JP_OP_SWAP = 0x16,
	JP_OP_ROT = 0x17,
	JP_OP_ABS = 0x19,
	JP_OP_AND,
	JP_OP_DIV,
	JP_OP_MINUS,
	JP_OP_MOD,
	JP_OP_MUL,
	JP_OP_NEG,
	JP_OP_NOT,
	JP_OP_OR,
	JP_OP_PLUS,
	JP_OP_SHL = 0x24,
	JP_OP_SHR,
	JP_OP_SHRA,
	JP_OP_XOR,
	JP_OP_JUMP_IF, /* like JP_OP_JUMP, if the top is not zero */
	JP_OP_EQ,
	JP_OP_GE,
	JP_OP_GT,
	JP_OP_LE,
	JP_OP_LT,
	JP_OP_NE,
	JP_OP_JUMP,        /* jump to operation @value */
	JP_OP_REG = 0x92,  /* push register @reg + @value */
	JP_OP_LOAD = 0x94, /* replace the address on top by the @value bytes stored there */
	JP_OP_CFA = 0x9c,
};

struct jp_cfi_op {
	uint8_t kind;
	uint8_t reg;
	uint64_t value;
};

/* Evaluates an expression. Returns STEPPED and the final top of the stack in *@result; NONE if
 * the expression is invalid or needs an unknown register; STACK if it reads memory that the dump
 * lacks. */
enum jp_cfi_answer jp_cfi_evaluate(const struct jp_cfi_op *ops, size_t count,
				   const struct jp_regs *regs, uint64_t cfa, jp_stack_load load,
				   void *context, uint64_t *result);
