// SPDX-License-Identifier: GPL-2.0-only
/* Walks by cached steps, on a stack made by hand, and the cases that they leave to the unwinder. */

#include "harness/model/machine/machine.h"
#include "harness/model/unwind/known_steps.h"
#include "harness/selftest/support/check.h"

enum { RBX = 3, RBP = 6, RSP = 7, R12 = 12, RIP = 16 };
enum { SPACE = 5, SP = 0x7000, WORDS = 64, CODE = 0x400000, MOST = 8 };

/* Functions at CODE + 0x100 * N: with a frame of 32 bytes that contains rbx and rbp; with a frame
 * pointer; with a smaller frame. */
enum { PLAIN, FRAMED, SMALL, FUNCTIONS };
static struct jp_cfi_rule rules[] = {
	{JP_RULE_AT_CFA, RIP, 0, -8}, {JP_RULE_AT_CFA, RBX, 0, -24}, {JP_RULE_AT_CFA, RBP, 0, -16},
	{JP_RULE_AT_CFA, RIP, 0, -8}, {JP_RULE_AT_CFA, RBP, 0, -16},
};
static const struct jp_cfi_rows rows = {.rules = rules};
static const struct jp_cfi_row made[FUNCTIONS] = {
	[PLAIN] = {0,
		   1 << R12,
		   {JP_RULE_REG, 0, RSP, 32},
		   3,
		   JP_ROW_STEP,
		   true,
		   true,
		   -24,
		   16,
		   1 << RIP | 1 << RBX | 1 << RBP | 1 << RSP},
	[FRAMED] = {3,
		    1 << R12 | 1 << RBX,
		    {JP_RULE_REG, 0, RBP, 16},
		    2,
		    JP_ROW_STEP,
		    true,
		    true,
		    -16,
		    8,
		    1 << RIP | 1 << RBP | 1 << RSP},
	[SMALL] = {3,
		   1 << R12,
		   {JP_RULE_REG, 0, RSP, 16},
		   2,
		   JP_ROW_STEP,
		   true,
		   true,
		   -16,
		   8,
		   1 << RIP | 1 << RBP | 1 << RSP},
};

/* A machine whose calls push the return address, and one whose calls do not. */
static const struct jp_machine_frames pushing = {.pushed = 8}, linking = {.pushed = 0};
static const struct jp_machine pusher = {.ip = RIP, .sp = RSP, .frames = &pushing};
static const struct jp_machine linker = {.ip = RIP, .sp = RSP, .frames = &linking};

static struct jp_known_steps *steps;
static uint64_t stack[WORDS], frames[MOST];
static struct jp_regs regs;

static uint64_t get_code(int function)
{
	return CODE + 0x100 * (uint64_t)function;
}

static void add_step(int function, uint64_t space)
{
	*jp_known_step_at(steps, get_code(function)) =
		(struct jp_known_step){get_code(function), space, &rows, made[function]};
}

/* Sets registers to a return address in @function, with the stack pointer SP + 8 * @word. */
static void set_registers(int function, unsigned word)
{
	regs = (struct jp_regs){.machine = &pusher,
				.mask = 1 << RIP | 1 << RSP | 1 << RBP | 1 << R12};
	regs.r[RIP] = get_code(function) + 1;
	regs.r[RSP] = SP + 8 * word;
	regs.r[RBP] = SP + 8 * 20;
	regs.r[R12] = 12;
}

static uint32_t walk_space(uint64_t space, unsigned words, uint32_t max)
{
	const struct jp_stack_dump dump = {(unsigned char *)stack, SP, 8 * (uint64_t)words, 0,
					   false};

	return jp_known_steps_walk(steps, space, &regs, true, &dump, frames, max);
}

static uint32_t walk(void)
{
	return walk_space(SPACE, WORDS, MOST);
}

/* Fills a stack: PLAIN, with the stack pointer SP, was called by SMALL, with SP + 32; SMALL was
 * called by FRAMED, with SP + 48; and FRAMED by unknown code. */
static void fill_stack(void)
{
	memset(stack, 0, sizeof(stack));
	stack[1] = 0xb;
	stack[2] = SP + 8 * 10;
	stack[3] = get_code(SMALL) + 1;
	stack[4] = SP + 8 * 12;
	stack[5] = get_code(FRAMED) + 1;
	stack[12] = 0xbb;
	stack[13] = 0x1234;
}

TEST(steps)
{
	steps = calloc(1, sizeof(*steps));
	if (!steps)
		exit(99);
	for (int i = 0; i < FUNCTIONS; i++)
		add_step(i, SPACE);
}

TEST(callers)
{
	uint32_t count;

	fill_stack();
	set_registers(PLAIN, 0);
	count = walk();
	check(count == 3 && frames[0] == get_code(SMALL) + 1 && frames[1] == get_code(FRAMED) + 1 &&
		      frames[2] == 0x1234,
	      "%u steps lead to the callers", count);
	check(regs.r[RIP] == 0x1234 && regs.r[RSP] == SP + 8 * 14 && regs.r[RBP] == 0xbb,
	      "registers are those of the last caller");
	check(regs.mask == (1 << RIP | 1 << RSP | 1 << RBP | 1 << R12) && regs.r[R12] == 12,
	      "known registers are those that the last step keeps or loads");
	set_registers(PLAIN, 0);
	check(walk_space(SPACE, WORDS, 1) == 1 && regs.r[RBX] == 0xb && regs.mask & 1 << RBX &&
		      regs.r[RSP] == SP + 32,
	      "a limit of one step is kept");
	set_registers(PLAIN, 0);
	check(walk() == 3 && frames[2] == 0x1234, "a second walk uses guesses");
}

TEST(limits)
{
	fill_stack();
	set_registers(PLAIN, 0);
	check(walk_space(SPACE, 14, MOST) == 3, "a frame may end with the dump");
	set_registers(PLAIN, 0);
	check(walk_space(SPACE, 13, MOST) == 2 && regs.r[RIP] == get_code(FRAMED) + 1,
	      "a frame cut by the dump stops the walk");
	set_registers(PLAIN, 0);
	check(!walk_space(SPACE, 0, MOST) && regs.r[RSP] == SP, "an empty dump stops the walk");
	set_registers(FRAMED, 0);
	regs.r[RBP] = SP - 8;
	stack[0] = 0x1234;
	check(!walk(), "a frame below the dump stops the walk");
	set_registers(FRAMED, 14);
	regs.r[RBP] = SP + 8 * 12;
	check(!walk(), "a step that does not rise stops the walk");
	set_registers(FRAMED, 13);
	regs.r[RBP] = SP + 8 * 12;
	check(walk() == 1, "a step that rises by one word is taken");
	set_registers(FRAMED, 0);
	regs.r[RBP] = SP + 8 * 12;
	regs.mask &= ~(UINT64_C(1) << RBP);
	check(!walk(), "an unknown frame pointer stops the walk");
	stack[5] = 0;
	set_registers(PLAIN, 0);
	check(walk() == 1 && regs.r[RIP] == get_code(SMALL) + 1, "address 0 stops the walk");
	jp_known_step_at(steps, get_code(PLAIN))->row.direct = false;
	set_registers(PLAIN, 0);
	check(!walk(), "a row that is not direct stops the walk");
	add_step(PLAIN, SPACE);
}

/* A frame of size 0 is allowed only in a caller, on a machine whose calls push nothing. */
TEST(first_step)
{
	struct jp_cfi_rule rule = {JP_RULE_AT_CFA, RIP, 0, 0};
	const struct jp_cfi_rows level = {.rules = &rule};
	const struct jp_stack_dump dump = {(unsigned char *)stack, SP, sizeof(stack), 0, false};

	fill_stack();
	stack[0] = 0x1234;
	*jp_known_step_at(steps, CODE) = (struct jp_known_step){
		CODE,
		SPACE,
		&level,
		{0, 0, {JP_RULE_REG, 0, RSP, 0}, 1, JP_ROW_STEP, true, true, 0, 0, 1}};
	for (int is_return = 0; is_return < 2; is_return++) {
		regs = (struct jp_regs){.machine = &linker, .mask = 1 << RSP | 1 << RIP};
		regs.r[RSP] = SP;
		regs.r[RIP] = CODE + (unsigned)is_return;
		check(jp_known_steps_walk(steps, SPACE, &regs, is_return, &dump, frames, MOST) ==
			      (unsigned)is_return,
		      "a frame of no size in %s function", is_return ? "a calling" : "the sampled");
	}
	stack[1] = CODE + 1;
	stack[2] = 0x1234;
	regs.r[RSP] = SP;
	regs.r[RIP] = get_code(SMALL);
	check(jp_known_steps_walk(steps, SPACE, &regs, false, &dump, frames, MOST) == 2,
	      "a frame of no size in the sampled function's caller is left");
	add_step(PLAIN, SPACE);
	free(steps);
}
