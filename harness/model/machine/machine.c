// SPDX-License-Identifier: GPL-2.0-only
#include "harness/model/machine/machine.h"

bool jp_machine_user(const struct jp_machine *machine, const struct jp_event *sample, uint64_t *ip,
		     uint64_t *sp)
{
	const struct jp_regs *regs = sample->sample.regs;
	uint64_t needed = UINT64_C(1) << machine->ip | UINT64_C(1) << machine->sp;

	/* The first address of an observed stack is the sampled one. */
	if (sample->observed && sample->sample.user) {
		*ip = sample->sample.ip;
		*sp = 0;
		return true;
	}
	if (!regs || regs->machine != machine || (regs->known & needed) != needed)
		return false;
	*ip = regs->r[machine->ip];
	*sp = regs->r[machine->sp];
	return true;
}
