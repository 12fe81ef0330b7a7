/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <elf.h>

/* The linker's: this program's own ELF header. */
extern const Elf64_Ehdr __ehdr_start __attribute__((visibility("hidden")));

/* The machine that this program was built for, as ELF numbers it. */
static inline uint16_t jp_own_machine(void)
{
	return __ehdr_start.e_machine;
}
