// SPDX-License-Identifier: GPL-2.0-only
/* Steps that walks know, on a stack made by hand: where they lead, and where they leave the walk to
 * others. */
#include <stdlib.h>
#include <string.h>

#include "harness/model/machine/machine.h"
#include "harness/model/unwind/known_steps.h"
#include "harness/selftest/support/check.h"

enum { RBX = 3, RBP = 6, RSP = 7, R12 = 12, RIP = 16 };
enum { SPACE = 5, SP = 0x7000, WORDS = 64, CODE = 0x400000, MOST = 8 };

/* By CODE + 0x100 * each: a frame of 32 bytes with rbx and rbp in it, one that rbp leads to, and
 * one that is as the first but for its size. */
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

/* One whose calls push the return address, and one whose calls do not. */
static const struct jp_machine_frames pushing = {.pushed = 8}, linking = {.pushed = 0};
static const struct jp_machine pusher = {.ip = RIP, .sp = RSP, .frames = &pushing};
static const struct jp_machine linker = {.ip = RIP, .sp = RSP, .frames = &linking};

static struct jp_known_steps *steps;
static uint64_t stack[WORDS], frames[MOST];
static struct jp_regs regs;

static uint64_t code(int function)
{
	return CODE + 0x100 * (uint64_t)function;
}

static void learn(int function, uint64_t space)
{
	*jp_known_step_at(steps, code(function)) =
		(struct jp_known_step){code(function), space, &rows, made[function]};
}

/* Registers at SP + 8 * @word in @function, which called. */
static void start(int function, unsigned word)
{
	regs = (struct jp_regs){.machine = &pusher,
				.known = 1 << RIP | 1 << RSP | 1 << RBP | 1 << R12};
	regs.r[RIP] = code(function) + 1;
	regs.r[RSP] = SP + 8 * word;
	regs.r[RBP] = SP + 8 * 20;
	regs.r[R12] = 12;
}

static uint32_t walk_in(uint64_t space, unsigned words, uint32_t most)
{
	const struct jp_stack_dump dump = {(unsigned char *)stack, SP, 8 * (uint64_t)words, 0};

	return jp_known_steps_walk(steps, space, &regs, true, &dump, frames, most);
}

static uint32_t walk(void)
{
	return walk_in(SPACE, WORDS, MOST);
}

/* PLAIN at SP calls SMALL at SP + 32, that FRAMED at SP + 48, and that what nobody knows. */
static void lay(void)
{
	memset(stack, 0, sizeof(stack));
	stack[1] = 0xb;
	stack[2] = SP + 8 * 10;
	stack[3] = code(SMALL) + 1;
	stack[4] = SP + 8 * 12;
	stack[5] = code(FRAMED) + 1;
	stack[12] = 0xbb;
	stack[13] = 0x1234;
}

static void leads_to_callers(void)
{
	uint32_t count;

	lay();
	start(PLAIN, 0);
	count = walk();
	check(count == 3 && frames[0] == code(SMALL) + 1 && frames[1] == code(FRAMED) + 1 &&
		      frames[2] == 0x1234,
	      "%u steps", count);
	check(regs.r[RIP] == 0x1234 && regs.r[RSP] == SP + 8 * 14 && regs.r[RBP] == 0xbb,
	      "registers: the last caller's");
	check(regs.known == (1 << RIP | 1 << RSP | 1 << RBP | 1 << R12) && regs.r[R12] == 12,
	      "known: what the last step kept and gave");
	start(PLAIN, 0);
	check(walk_in(SPACE, WORDS, 1) == 1 && regs.r[RBX] == 0xb && regs.known & 1 << RBX &&
		      regs.r[RSP] == SP + 32,
	      "at most one step, and its registers");
	start(PLAIN, 0);
	check(walk() == 3 && frames[2] == 0x1234, "again, by guesses");
}

static void guesses_are_no_more(void)
{
	lay();
	start(PLAIN, 0);
	walk();
	/* SMALL where PLAIN was, and PLAIN where SMALL was. */
	stack[1] = code(PLAIN) + 1;
	stack[5] = code(FRAMED) + 1;
	start(SMALL, 0);
	stack[0] = SP + 8 * 12;
	check(walk() == 3 && frames[0] == code(PLAIN) + 1 && frames[1] == code(FRAMED) + 1 &&
		      frames[2] == 0x1234,
	      "other code at known places");
	lay();
	start(PLAIN, 0);
	learn(SMALL, SPACE + 1);
	check(walk() == 1, "code that is not known in this space any more");
	learn(SMALL, SPACE);
	start(PLAIN, 0);
	check(!walk_in(SPACE + 1, WORDS, MOST), "no other space has it");
	learn(PLAIN, 0);
	check(!walk_in(0, WORDS, MOST), "nor has none");
	learn(PLAIN, SPACE);
}

static void leaves_to_others(void)
{
	lay();
	start(PLAIN, 0);
	check(walk_in(SPACE, 14, MOST) == 3, "the dump's last word");
	start(PLAIN, 0);
	check(walk_in(SPACE, 13, MOST) == 2 && regs.r[RIP] == code(FRAMED) + 1,
	      "a frame that the dump cuts");
	start(PLAIN, 0);
	check(!walk_in(SPACE, 0, MOST) && regs.r[RSP] == SP, "no dump");
	start(FRAMED, 0);
	regs.r[RBP] = SP - 8;
	stack[0] = 0x1234;
	check(!walk(), "a frame below the dump");
	start(FRAMED, 14);
	regs.r[RBP] = SP + 8 * 12;
	check(!walk(), "a step that does not rise");
	start(FRAMED, 13);
	regs.r[RBP] = SP + 8 * 12;
	check(walk() == 1, "one that rises by no more than a call pushes");
	start(FRAMED, 0);
	regs.r[RBP] = SP + 8 * 12;
	regs.known &= ~(UINT64_C(1) << RBP);
	check(!walk(), "a frame pointer that is not known");
	stack[5] = 0;
	start(PLAIN, 0);
	check(walk() == 1 && regs.r[RIP] == code(SMALL) + 1, "an address of 0");
	jp_known_step_at(steps, code(PLAIN))->row.direct = false;
	start(PLAIN, 0);
	check(!walk(), "rules that need more than the CFA");
	learn(PLAIN, SPACE);
}

/* A sampled function that pushes nothing gets nowhere by a frame of no size; its caller may have
 * one where a call pushes nothing either. */
static void first_step(void)
{
	struct jp_cfi_rule rule = {JP_RULE_AT_CFA, RIP, 0, 0};
	const struct jp_cfi_rows level = {.rules = &rule};
	const struct jp_stack_dump dump = {(unsigned char *)stack, SP, sizeof(stack), 0};

	lay();
	stack[0] = 0x1234;
	*jp_known_step_at(steps, CODE) = (struct jp_known_step){
		CODE,
		SPACE,
		&level,
		{0, 0, {JP_RULE_REG, 0, RSP, 0}, 1, JP_ROW_STEP, true, true, 0, 0, 1}};
	for (int called = 0; called < 2; called++) {
		regs = (struct jp_regs){.machine = &linker, .known = 1 << RSP | 1 << RIP};
		regs.r[RSP] = SP;
		regs.r[RIP] = CODE + (unsigned)called;
		check(jp_known_steps_walk(steps, SPACE, &regs, called, &dump, frames, MOST) ==
			      (unsigned)called,
		      "a frame of no size, %s", called ? "called" : "sampled");
	}
	stack[1] = CODE + 1;
	stack[2] = 0x1234;
	regs.r[RSP] = SP;
	regs.r[RIP] = code(SMALL);
	check(jp_known_steps_walk(steps, SPACE, &regs, false, &dump, frames, MOST) == 2,
	      "a frame of no size, of what a sampled function returns to");
	learn(PLAIN, SPACE);
}

int main(void)
{
	steps = calloc(1, sizeof(*steps));
	if (!steps)
		return 99;
	for (int i = 0; i < FUNCTIONS; i++)
		learn(i, SPACE);
	leads_to_callers();
	guesses_are_no_more();
	leaves_to_others();
	first_step();
	free(steps);
	return check_done();
}
