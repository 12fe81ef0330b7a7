// SPDX-License-Identifier: GPL-2.0-only
#include "harness/model/unwind/cfi_expression.h"

enum {
	DEPTH = 32,
	MAX_STEPS = 512, /* largest number of executed operations: an expression may contain an
			    endless loop */
};

struct word_stack {
	uint64_t word[DEPTH];
	unsigned depth;
};

static bool push_value(struct word_stack *stack, uint64_t value)
{
	if (stack->depth == DEPTH)
		return false;
	stack->word[stack->depth++] = value;
	return true;
}

static bool compare(uint8_t kind, int64_t a, int64_t b, uint64_t *result)
{
	switch (kind) {
	case JP_OP_EQ:
		*result = a == b;
		return true;
	case JP_OP_NE:
		*result = a != b;
		return true;
	case JP_OP_LT:
		*result = a < b;
		return true;
	case JP_OP_LE:
		*result = a <= b;
		return true;
	case JP_OP_GT:
		*result = a > b;
		return true;
	case JP_OP_GE:
		*result = a >= b;
		return true;
	default:
		return false;
	}
}

/* Computes "@lower OPERATION @top", where the operation is @kind. Returns false for an unknown
 * operation. */
static bool apply_binary(uint8_t kind, uint64_t lower, uint64_t top, uint64_t *result)
{
	int64_t a = lower, b = top;

	switch (kind) {
	case JP_OP_AND:
		*result = lower & top;
		return true;
	case JP_OP_OR:
		*result = lower | top;
		return true;
	case JP_OP_XOR:
		*result = lower ^ top;
		return true;
	case JP_OP_PLUS:
		*result = lower + top;
		return true;
	case JP_OP_MINUS:
		*result = lower - top;
		return true;
	case JP_OP_MUL:
		*result = lower * top;
		return true;
	case JP_OP_DIV:
		if (b == 0 || (b == -1 && a == INT64_MIN))
			return false;
		*result = a / b;
		return true;
	case JP_OP_MOD:
		if (top == 0)
			return false;
		*result = lower % top;
		return true;
	case JP_OP_SHL:
		*result = top < 64 ? lower << top : 0;
		return true;
	case JP_OP_SHR:
		*result = top < 64 ? lower >> top : 0;
		return true;
	case JP_OP_SHRA:
		*result = a >> (top < 64 ? top : 63);
		return true;
	default:
		return compare(kind, a, b, result);
	}
}

/* Applies an operation that only needs the stack. Returns false if it is unknown or invalid. */
static bool apply_stack_op(const struct jp_cfi_op *op, struct word_stack *stack)
{
	uint64_t *top, word;

	if (stack->depth < 1)
		return false;
	top = &stack->word[stack->depth - 1];
	switch (op->kind) {
	case JP_OP_DUP:
		return push_value(stack, *top);
	case JP_OP_DROP:
		stack->depth--;
		return true;
	case JP_OP_PICK:
		return op->value < stack->depth && push_value(stack, *(top - op->value));
	case JP_OP_SWAP:
		if (stack->depth < 2)
			return false;
		word = top[0];
		top[0] = top[-1];
		top[-1] = word;
		return true;
	case JP_OP_ROT:
		if (stack->depth < 3)
			return false;
		word = top[0];
		top[0] = top[-1];
		top[-1] = top[-2];
		top[-2] = word;
		return true;
	case JP_OP_ABS:
		*top = (int64_t)*top < 0 ? -*top : *top;
		return true;
	case JP_OP_NEG:
		*top = -*top;
		return true;
	case JP_OP_NOT:
		*top = ~*top;
		return true;
	default:
		if (stack->depth < 2 || !apply_binary(op->kind, top[-1], top[0], &top[-1]))
			return false;
		stack->depth--;
		return true;
	}
}

enum jp_cfi_answer jp_cfi_evaluate(const struct jp_cfi_op *ops, size_t count,
				   const struct jp_regs *regs, uint64_t cfa, jp_stack_load load,
				   void *context, uint64_t *result)
{
	struct word_stack stack = {.depth = 0};
	unsigned steps = 0;

	for (size_t op_index = 0; op_index < count; op_index++) {
		const struct jp_cfi_op *op = &ops[op_index];
		uint64_t *top = stack.depth ? &stack.word[stack.depth - 1] : NULL;
		bool is_valid;

		if (++steps > MAX_STEPS)
			return JP_CFI_NONE;
		switch (op->kind) {
		case JP_OP_PUSH:
			is_valid = push_value(&stack, op->value);
			break;
		case JP_OP_REG:
			is_valid = op->reg < JP_REGS && regs->mask & UINT64_C(1) << op->reg &&
				   push_value(&stack, regs->r[op->reg] + op->value);
			break;
		case JP_OP_CFA:
			is_valid = push_value(&stack, cfa);
			break;
		case JP_OP_LOAD:
			is_valid = top != NULL;
			if (is_valid && !load(context, *top, top))
				return JP_CFI_STACK;
			if (is_valid && op->value < 8)
				*top &= ((uint64_t)1 << 8 * op->value) - 1;
			break;
		case JP_OP_JUMP_IF:
		case JP_OP_JUMP:
			is_valid = op->kind == JP_OP_JUMP || top;
			if (is_valid && (op->kind == JP_OP_JUMP || stack.word[--stack.depth]))
				op_index = op->value - 1; /* the loop then adds 1 */
			break;
		default:
			is_valid = apply_stack_op(op, &stack);
			break;
		}
		if (!is_valid)
			return JP_CFI_NONE;
	}
	if (!stack.depth)
		return JP_CFI_NONE;
	*result = stack.word[stack.depth - 1];
	return JP_CFI_STEPPED;
}
