// SPDX-License-Identifier: GPL-2.0-only
#include "harness/machine.h"

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
