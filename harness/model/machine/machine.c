// SPDX-License-Identifier: GPL-2.0-only
#include "harness/model/machine/machine.h"

#include <stddef.h>

extern const void *const __start_jp_machine[] __attribute__((weak));
extern const void *const __stop_jp_machine[] __attribute__((weak));

const struct jp_machine *jp_machine_find(uint16_t elf)
{
	for (const void *const *at = __start_jp_machine; at < __stop_jp_machine; at++) {
		const struct jp_machine *machine = *at;

		if (elf == 0 || machine->elf == elf)
			return machine;
	}
	return NULL;
}

bool jp_machine_user(const struct jp_machine *machine, const struct jp_event *sample, uint64_t *ip,
		     uint64_t *sp)
{
	const struct jp_regs *regs = sample->sample.regs;
	uint32_t needed = 1u << machine->ip | 1u << machine->sp;

	if (!regs || (regs->known & needed) != needed)
		return false;
	*ip = regs->r[machine->ip];
	*sp = regs->r[machine->sp];
	return true;
}
