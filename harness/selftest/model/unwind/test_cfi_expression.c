// SPDX-License-Identifier: GPL-2.0-only
/* Tests expressions of call frame information: each operation on distinct operands, and each kind
 * of broken expression. */
#include "harness/model/unwind/cfi_expression.h"
#include "harness/selftest/support/check.h"

enum { MOST = 64, CFA = 0x7000, MEMORY = 0x8000 };
#define MIN ((uint64_t)INT64_MIN)

static bool load_word(void *context, uint64_t addr, uint64_t *value)
{
	*value = UINT64_C(0x8877665544332211);
	return addr == MEMORY;
}

static enum jp_cfi_answer evaluate(const struct jp_cfi_op *ops, size_t count, uint64_t *result)
{
	const struct jp_regs regs = {.mask = 1 << 6, .r = {[6] = 0x600, [7] = 0x700}};

	return jp_cfi_evaluate(ops, count, &regs, CFA, load_word, NULL, result);
}

/* Checks the value on top of the stack after operation @kind on the stack 5, 6, @lower, @top. */
static void check_operation(uint8_t kind, uint64_t value, uint64_t lower, uint64_t top,
			    uint64_t expected)
{
	const struct jp_cfi_op ops[] = {{JP_OP_PUSH, 0, 5},
					{JP_OP_PUSH, 0, 6},
					{JP_OP_PUSH, 0, lower},
					{JP_OP_PUSH, 0, top},
					{kind, 0, value}};
	uint64_t result = 0;

	check(evaluate(ops, 5, &result) == JP_CFI_STEPPED && result == expected,
	      "operation %#x of %#llx and %#llx gives %#llx", kind, (unsigned long long)lower,
	      (unsigned long long)top, (unsigned long long)result);
}

TEST(operations)
{
	check_operation(JP_OP_DUP, 0, 1, 9, 9);
	check_operation(JP_OP_DROP, 0, 1, 9, 1);
	check_operation(JP_OP_SWAP, 0, 1, 9, 1);
	check_operation(JP_OP_ROT, 0, 1, 9, 1);
	for (uint64_t i = 0; i < 4; i++)
		check_operation(JP_OP_PICK, i, 7, 8, 8 - i);
	check_operation(JP_OP_ABS, 0, 1, 9, 9);
	check_operation(JP_OP_ABS, 0, 1, (uint64_t)-9, 9);
	check_operation(JP_OP_ABS, 0, 1, 0, 0);
	check_operation(JP_OP_NEG, 0, 1, 9, (uint64_t)-9);
	check_operation(JP_OP_NOT, 0, 1, 9, ~UINT64_C(9));
	check_operation(JP_OP_AND, 0, 12, 10, 8);
	check_operation(JP_OP_OR, 0, 12, 10, 14);
	check_operation(JP_OP_XOR, 0, 12, 10, 6);
	check_operation(JP_OP_PLUS, 0, 12, 10, 22);
	check_operation(JP_OP_MINUS, 0, 12, 10, 2);
	check_operation(JP_OP_MUL, 0, 12, 10, 120);
	check_operation(JP_OP_DIV, 0, (uint64_t)-12, 5, (uint64_t)-2);
	check_operation(JP_OP_DIV, 0, MIN, 1, MIN);
	check_operation(JP_OP_DIV, 0, 12, (uint64_t)-1, (uint64_t)-12);
	check_operation(JP_OP_MOD, 0, 12, 5, 2);
	check_operation(JP_OP_MOD, 0, (uint64_t)-1, 10, 5); /* unsigned */
	check_operation(JP_OP_SHL, 0, 3, 4, 48);
	check_operation(JP_OP_SHL, 0, 3, 63, MIN);
	check_operation(JP_OP_SHL, 0, 3, 64, 0);
	check_operation(JP_OP_SHR, 0, 48, 4, 3);
	check_operation(JP_OP_SHR, 0, MIN, 63, 1);
	check_operation(JP_OP_SHR, 0, MIN, 64, 0);
	check_operation(JP_OP_SHRA, 0, (uint64_t)-48, 4, (uint64_t)-3);
	check_operation(JP_OP_SHRA, 0, MIN, 62, (uint64_t)-2);
	check_operation(JP_OP_SHRA, 0, (uint64_t)-48, 64, (uint64_t)-1);
	check_operation(JP_OP_SHRA, 0, 48, 200, 0);
}

TEST(rotation)
{
	static const uint64_t expected[] = {2, 1, 3};
	const struct jp_cfi_op ops[] = {{JP_OP_PUSH, 0, 1}, {JP_OP_PUSH, 0, 2}, {JP_OP_PUSH, 0, 3},
					{JP_OP_ROT, 0, 0},  {JP_OP_DROP, 0, 0}, {JP_OP_DROP, 0, 0}};
	uint64_t result;

	for (size_t i = 0; i < 3; i++)
		check(evaluate(ops, 4 + i, &result) == JP_CFI_STEPPED && result == expected[i],
		      "word %zu of a rotation is right", i);
}

TEST(comparisons)
{
	static const struct {
		uint8_t kind;
		bool less, same, more;
	} table[] = {{JP_OP_EQ, false, true, false}, {JP_OP_NE, true, false, true},
		     {JP_OP_LT, true, false, false}, {JP_OP_LE, true, true, false},
		     {JP_OP_GT, false, false, true}, {JP_OP_GE, false, true, true}};

	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		check_operation(table[i].kind, 0, (uint64_t)-1, 1, table[i].less); /* signed */
		check_operation(table[i].kind, 0, 4, 4, table[i].same);
		check_operation(table[i].kind, 0, 5, 4, table[i].more);
	}
}

TEST(operands)
{
	static const struct {
		struct jp_cfi_op op;
		uint64_t expected;
	} table[] = {{{JP_OP_CFA, 0, 0}, CFA}, {{JP_OP_REG, 6, (uint64_t)-8}, 0x5f8}};
	struct jp_cfi_op ops[] = {{JP_OP_PUSH, 0, MEMORY}, {JP_OP_LOAD, 0, 8}};
	const struct jp_cfi_op unknown = {JP_OP_REG, 7, 0}, no_register = {JP_OP_REG, JP_REGS, 0};
	uint64_t result;

	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++)
		check(evaluate(&table[i].op, 1, &result) == JP_CFI_STEPPED &&
			      result == table[i].expected,
		      "operation %#x pushes its value", table[i].op.kind);
	check(evaluate(&unknown, 1, &result) == JP_CFI_NONE &&
		      evaluate(&no_register, 1, &result) == JP_CFI_NONE,
	      "an unknown register gives no value");
	for (uint64_t bytes = 1; bytes <= 8; bytes++) {
		ops[1].value = bytes;
		check(evaluate(ops, 2, &result) == JP_CFI_STEPPED &&
			      result == UINT64_C(0x8877665544332211) << (64 - 8 * bytes) >>
						(64 - 8 * bytes),
		      "%d bytes are loaded", (int)bytes);
	}
	ops[0].value++;
	check(evaluate(ops, 2, &result) == JP_CFI_STACK, "a word outside of the dump is an error");
}

TEST(too_few)
{
	static const struct {
		uint8_t kind;
		size_t stack_size;
	} table[] = {{JP_OP_DUP, 1}, {JP_OP_DROP, 2}, {JP_OP_PICK, 1},    {JP_OP_SWAP, 2},
		     {JP_OP_ROT, 3}, {JP_OP_ABS, 1},  {JP_OP_NEG, 1},     {JP_OP_NOT, 1},
		     {JP_OP_AND, 2}, {JP_OP_PLUS, 2}, {JP_OP_JUMP_IF, 2}, {JP_OP_EQ, 2}};
	uint64_t result;

	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		struct jp_cfi_op ops[4];
		size_t needs = table[i].stack_size;

		for (size_t j = 0; j < needs; j++)
			ops[j] = (struct jp_cfi_op){JP_OP_PUSH, 0, 0};
		ops[needs] = (struct jp_cfi_op){table[i].kind, 0,
						table[i].kind == JP_OP_JUMP_IF ? needs + 1 : 0};
		check(evaluate(ops, needs + 1, &result) == JP_CFI_STEPPED &&
			      evaluate(ops + 1, needs, &result) == JP_CFI_NONE,
		      "operation %#x needs %zu operands", table[i].kind, needs);
	}
	check(evaluate(NULL, 0, &result) == JP_CFI_NONE, "an empty expression gives no value");
}

TEST(broken_expressions)
{
	static const struct jp_cfi_op by_zero[] = {{JP_OP_PUSH, 0, 1}, {JP_OP_PUSH, 0, 0}};
	static const struct jp_cfi_op out[] = {{JP_OP_PUSH, 0, MIN}, {JP_OP_PUSH, 0, UINT64_MAX}};
	struct jp_cfi_op ops[3];
	uint64_t result;

	for (int i = 0; i < 3; i++) {
		ops[0] = i < 2 ? by_zero[0] : out[0];
		ops[1] = i < 2 ? by_zero[1] : out[1];
		ops[2] = (struct jp_cfi_op){i == 1 ? JP_OP_MOD : JP_OP_DIV, 0, 0};
		check(evaluate(ops, 3, &result) == JP_CFI_NONE,
		      "a division without a result, %d, gives no value", i);
	}
	ops[0] = ops[1] = (struct jp_cfi_op){JP_OP_PUSH, 0, 1};
	ops[2] = (struct jp_cfi_op){0xff, 0, 0};
	check(evaluate(ops, 3, &result) == JP_CFI_NONE, "an unknown operation gives no value");
	ops[2] = (struct jp_cfi_op){JP_OP_PICK, 0, 2};
	check(evaluate(ops, 3, &result) == JP_CFI_NONE, "a pick below the stack gives no value");
}

TEST(limits)
{
	struct jp_cfi_op ops[MOST];
	uint64_t result;

	for (size_t i = 0; i < MOST; i++)
		ops[i] = (struct jp_cfi_op){JP_OP_PUSH, 0, i};
	check(evaluate(ops, 32, &result) == JP_CFI_STEPPED && result == 31, "32 words fit");
	check(evaluate(ops, 33, &result) == JP_CFI_NONE, "33 words do not fit");
	ops[1] = (struct jp_cfi_op){JP_OP_JUMP, 0, 0};
	ops[0] = (struct jp_cfi_op){JP_OP_CFA, 0, 0};
	check(evaluate(ops, 2, &result) == JP_CFI_NONE, "an endless loop that pushes is stopped");
	ops[0] = (struct jp_cfi_op){JP_OP_JUMP, 0, 0};
	check(evaluate(ops, 2, &result) == JP_CFI_NONE, "an endless loop of jumps is stopped");
}

/* A loop of 510 steps that counts down, and a few operations more. */
TEST(limit_of_steps)
{
	struct jp_cfi_op ops[] = {{JP_OP_PUSH, 0, 127}, {JP_OP_PUSH, 0, 1},    {JP_OP_MINUS, 0, 0},
				  {JP_OP_DUP, 0, 0},    {JP_OP_JUMP_IF, 0, 1}, {JP_OP_NOT, 0, 0},
				  {JP_OP_NOT, 0, 0},    {JP_OP_NOT, 0, 0},     {JP_OP_NOT, 0, 0}};
	uint64_t result;

	check(evaluate(ops, 8, &result) == JP_CFI_STEPPED && result == UINT64_MAX, "512 steps run");
	check(evaluate(ops, 9, &result) == JP_CFI_NONE, "513 steps are not allowed");
	ops[0].value = 3;
	check(evaluate(ops, 9, &result) == JP_CFI_STEPPED && result == 0, "a loop has its value");
}
