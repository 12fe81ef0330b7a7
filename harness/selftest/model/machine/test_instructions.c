// SPDX-License-Identifier: GPL-2.0-only
#include "harness/model/machine/machine.h"
#include "harness/selftest/support/check.h"

static bool calls(const struct jp_machine_frames *frames, uint32_t insn)
{
	return frames->follows_call((const unsigned char *)&insn, sizeof(insn));
}

static bool returns(const struct jp_machine_frames *frames, uint32_t insn)
{
	return frames->returns((const unsigned char *)&insn, sizeof(insn));
}

/* Checks the direct calls of 4 bytes back and 64 bytes ahead. */
static void check_direct_calls(const struct jp_machine_frames *frames, uint32_t backward_call,
			       uint32_t forward_call)
{
	int64_t distance = 0;

	check(frames->follows_direct_call((const unsigned char *)&backward_call, 4, &distance) &&
		      distance == -8,
	      "a call backwards");
	check(frames->follows_direct_call((const unsigned char *)&forward_call, 4, &distance) &&
		      distance == 60,
	      "a call forwards");
	check(!frames->follows_call((const unsigned char *)&forward_call, 3),
	      "half an instruction");
}

static void test_aarch64(const struct jp_machine_frames *frames)
{
	check_direct_calls(frames, 0x97ffffff, 0x94000010); /* bl -4, bl 64 */
	check(calls(frames, 0xd63f0200) && calls(frames, 0xd63f0a1f) && calls(frames, 0xd73f0e01),
	      "calls through registers: blr, blraaz, blrab");
	check(!calls(frames, 0x14000010) && !calls(frames, 0xd61f0200) &&
		      !calls(frames, 0xd65f03c0),
	      "b, br and ret are no calls");
	check(returns(frames, 0xd65f03c0) && returns(frames, 0xd65f0bff) &&
		      returns(frames, 0xd65f0fff),
	      "ret, retaa and retab return");
	check(!returns(frames, 0xd61f0200) && !returns(frames, 0xd503201f), "br and nop do not");
}

static void test_riscv64(const struct jp_machine_frames *frames)
{
	const uint32_t forward_call = 0x040000ef;          /* jal 64 */
	const uint16_t short_call = 0x9302, trap = 0x9002; /* c.jalr t1, c.ebreak */

	check_direct_calls(frames, 0xffdff0ef, forward_call); /* jal -4, jal 64 */
	check(calls(frames, 0x000300e7) && calls(frames, forward_call), "jalr and jal are calls");
	check(frames->follows_call((const unsigned char *)&short_call, 2) &&
		      !frames->follows_call((const unsigned char *)&trap, 2),
	      "c.jalr is a call, and c.ebreak is not");
	check(!calls(frames, 0x0400006f) && !calls(frames, 0x00030067) && !calls(frames, 0x8067),
	      "j, jr and ret are no calls");
	check(returns(frames, 0x8067) && returns(frames, 0x00018082), "ret and c.ret return");
	check(!returns(frames, 0x00030067) && !returns(frames, 0x13), "jr and nop do not");
}

TEST(instructions)
{
	test_aarch64(jp_machine_named("aarch64")->frames);
	test_riscv64(jp_machine_named("riscv64")->frames);
}
