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

static void test_instructions(const struct jp_machine_frames *frames)
{
	const uint32_t back = 0x97ffffff, ahead = 0x94000010; /* bl -4, bl 64 */
	int64_t distance = 0;

	check(frames->follows_direct_call((const unsigned char *)&back, 4, &distance) &&
		      distance == -8,
	      "a call backwards");
	check(frames->follows_direct_call((const unsigned char *)&ahead, 4, &distance) &&
		      distance == 60,
	      "a call forwards");
	check(!frames->follows_call((const unsigned char *)&ahead, 3), "half an instruction");
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

int main(void)
{
	test_instructions(jp_machine_named("aarch64")->frames);
	return check_done();
}
