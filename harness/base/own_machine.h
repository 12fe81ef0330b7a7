/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <link.h>
#include <stdint.h>

/* The linker defines this symbol: this program's own ELF header. */
extern const ElfW(Ehdr) __ehdr_start __attribute__((visibility("hidden")));

/* Returns the ELF number of the machine for which this program was built. */
static inline uint16_t jp_get_own_machine(void)
{
	return __ehdr_start.e_machine;
}
