// SPDX-License-Identifier: GPL-2.0-only
/* Tests shadow stacks with made-up instructions. */
#include <elf.h>

#include "harness/selftest/support/check.h"
#include "harness/trace/shadow.h"

enum { CODE = 0x1000, OTHER = 0x5000, STACK = 0x7f0000 };

static const unsigned char call[] = {0xe8, 0, 0, 0, 0}, ret[] = {0xc3}, nop[] = {0x90},
			   sub[] = {0x48, 0x83, 0xec, 0x20}, move[] = {0x48, 0x89, 0xc4},
			   pop[] = {0x59};

static struct jp_shadow shadow;

/* A state at @ip and @sp with the word @top there, before the instruction @code. */
static struct jp_shadow_state make_state(uint64_t ip, uint64_t sp, uint64_t top,
					 const unsigned char *code, uint64_t size)
{
	return (struct jp_shadow_state){.ip = ip, .sp = sp, .top = top, .code = code, .size = size};
}
#define AT(ip, sp, top, code) make_state(ip, sp, top, code, sizeof(code))

static void step(struct jp_shadow_state from, struct jp_shadow_state to)
{
	jp_shadow_step(&shadow, &from, &to);
}

/* A call at @ip with the stack pointer @sp, to OTHER. */
static void make_call(uint64_t ip, uint64_t sp)
{
	step(AT(ip, sp, 0, call), AT(OTHER, sp - 8, ip + 5, nop));
}

static void start(void)
{
	jp_shadow_free(&shadow);
	shadow.machine = jp_machine_find(EM_X86_64)->frames;
}

TEST(calls)
{
	const struct jp_shadow_frame *top;

	start();
	check(!jp_shadow_get_innermost(&shadow), "nothing is known before the first call");
	make_call(CODE, STACK);
	top = jp_shadow_get_innermost(&shadow);
	check(top && top->ret_addr == STACK - 8 && top->ret == CODE + 5 && top->start == OTHER,
	      "a call enters a function with its return address");
	step(AT(OTHER, STACK - 8, CODE + 5, sub), AT(OTHER + 4, STACK - 40, 0, nop));
	make_call(OTHER + 4, STACK - 40);
	step(AT(OTHER, STACK - 48, OTHER + 9, ret), AT(OTHER + 9, STACK - 40, 0, nop));
	top = jp_shadow_get_innermost(&shadow);
	check(top && top->ret == CODE + 5 && shadow.calls == 2 && shadow.returns == 1,
	      "a return leads back to the caller");
	step(AT(CODE, STACK - 40, 0, call), AT(OTHER, STACK - 48, 1, nop));
	check(shadow.count == 1, "a push of any other word is no call");
}

TEST(next_instruction)
{
	start();
	make_call(CODE, STACK);
	step(AT(OTHER, STACK - 8, CODE + 5, call), AT(OTHER + 5, STACK - 16, OTHER + 5, pop));
	step(AT(OTHER + 5, STACK - 16, OTHER + 5, pop), AT(OTHER + 6, STACK - 8, CODE + 5, nop));
	check(jp_shadow_get_innermost(&shadow) &&
		      jp_shadow_get_innermost(&shadow)->ret == CODE + 5 &&
		      !shadow.events[JP_SHADOW_LEFT],
	      "a call to the next instruction leaves no doubt");
}

TEST(popped_return_address)
{
	start();
	make_call(CODE, STACK);
	make_call(OTHER, STACK - 8);
	step(AT(OTHER, STACK - 16, OTHER + 5, pop), AT(OTHER + 1, STACK - 8, CODE + 5, nop));
	check(!jp_shadow_get_innermost(&shadow) && shadow.events[JP_SHADOW_LEFT] == 1,
	      "a popped return address leaves doubt");
}

TEST(returns_elsewhere)
{
	start();
	make_call(CODE, STACK);
	make_call(OTHER, STACK - 8);
	step(AT(OTHER, STACK - 16, CODE, ret), AT(CODE, STACK - 8, CODE + 5, nop));
	check(!jp_shadow_get_innermost(&shadow) && shadow.events[JP_SHADOW_CHANGED] == 1,
	      "a return to another address than the call's leaves doubt");
	start();
	make_call(CODE, STACK);
	step(AT(OTHER, STACK - 16, CODE, ret), AT(CODE, STACK - 8, CODE + 5, nop));
	check(shadow.count == 1 && !jp_shadow_get_innermost(&shadow) &&
		      shadow.events[JP_SHADOW_JUMP] == 1,
	      "a pushed address and a return are a jump");
}

TEST(stack_switch)
{
	start();
	make_call(CODE, STACK);
	step(AT(OTHER, STACK - 8, CODE + 5, move), AT(OTHER + 3, STACK - 0x10000, 0, nop));
	check(!shadow.count && shadow.events[JP_SHADOW_STACK] == 1,
	      "a lower stack pointer from a register is another stack");
	make_call(CODE, STACK);
	step(AT(OTHER, STACK - 8, CODE + 5, sub), AT(OTHER + 4, STACK - 0x10000, 0, nop));
	check(jp_shadow_get_innermost(&shadow), "an allocation of the same size is not");
}

TEST(signal)
{
	const struct jp_shadow_state inner = AT(OTHER, STACK - 8, CODE + 5, nop);
	struct jp_shadow_state handler = AT(0x9000, STACK - 0x500, 0x9900, ret);

	start();
	make_call(CODE, STACK);
	jp_shadow_signal(&shadow, &inner, &handler);
	check(jp_shadow_get_innermost(&shadow) && jp_shadow_get_innermost(&shadow)->ret == 0x9900,
	      "a signal enters a handler, which returns to the restorer");
	step(handler, AT(0x9900, STACK - 0x4f8, 0, nop));
	check(!jp_shadow_get_innermost(&shadow) && shadow.count == 2,
	      "in the restorer nothing is claimed");
	step(AT(0x9900, STACK - 0x4f8, 0, nop), inner);
	check(jp_shadow_get_innermost(&shadow) &&
		      jp_shadow_get_innermost(&shadow)->ret == CODE + 5 &&
		      !shadow.events[JP_SHADOW_LEFT],
	      "after the handler the interrupted function is known again");
	handler.sp = STACK + 0x10000;
	jp_shadow_signal(&shadow, &inner, &handler);
	step(handler, AT(0x9900, handler.sp + 8, 0, nop));
	check(!jp_shadow_get_innermost(&shadow), "a handler on a higher stack hides the frames");
	step(AT(0x9900, handler.sp + 8, 0, nop), inner);
	check(!jp_shadow_get_innermost(&shadow), "and they stay unknown");
}

TEST(depth)
{
	start();
	for (uint64_t i = 0; i < 1 << 17; i++)
		make_call(OTHER, STACK - 8 * i);
	check(shadow.events[JP_SHADOW_FULL] && jp_shadow_get_innermost(&shadow),
	      "endless recursion is bounded");
	jp_shadow_free(&shadow);
}
