// SPDX-License-Identifier: GPL-2.0-only
#include "harness/model/machine/machine.h"

#include "harness/base/return_address.h"

/* A frame record is two words: the caller's frame pointer, and the return address above it. */
enum jp_frame_answer jp_machine_step(struct jp_regs *regs, jp_stack_load load, void *context)
{
	const struct jp_machine *machine = regs->machine;
	const struct jp_machine_frames *frames = machine->frames;
	const uint64_t word = jp_machine_word(frames), fp = regs->r[frames->fp];
	const uint64_t record = fp - frames->fp_above;
	uint64_t caller, ip;

	if (!(regs->mask >> frames->fp & 1))
		return JP_FRAME_BAD;
	if (!fp)
		return JP_FRAME_END;
	if (fp < frames->fp_above || record < regs->r[machine->sp] || fp % word)
		return JP_FRAME_BAD;
	if (!load(context, record, &caller) || !load(context, record + word, &ip))
		return JP_FRAME_BEYOND;
	regs->r[frames->fp] = caller;
	regs->r[machine->sp] = record + 2 * word;
	regs->r[machine->ip] = jp_return_address(ip, frames->signature);
	regs->mask &= frames->saved | UINT64_C(1) << machine->sp | UINT64_C(1) << machine->ip;
	return JP_FRAME_STEPPED;
}

bool jp_machine_user(const struct jp_machine *machine, const struct jp_event *sample, uint64_t *ip,
		     uint64_t *sp)
{
	const struct jp_regs *regs = sample->sample.regs;
	uint64_t needed_regs = UINT64_C(1) << machine->ip | UINT64_C(1) << machine->sp;

	/* An observed stack starts with the sampled address. */
	if (sample->observed && sample->sample.user) {
		*ip = sample->sample.ip;
		*sp = 0;
		return true;
	}
	if (!regs || regs->machine != machine || (regs->mask & needed_regs) != needed_regs)
		return false;
	*ip = regs->r[machine->ip];
	*sp = regs->r[machine->sp];
	return true;
}
