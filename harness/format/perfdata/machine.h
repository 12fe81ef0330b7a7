/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdint.h>

/* One register of perf's numbering. */
struct jp_machine_register {
	signed char number; /* the register's DWARF number; -1: its value is not stored (flags) */
	/* Check of a register that is not stored: in user space, its bits in @mask have the value
	 * @value. */
	uint64_t mask, value;
};

/* A register whose value is stored under the DWARF number @dwarf. */
#define JP_DWARF(dwarf)                                                                            \
	{                                                                                          \
		.number = dwarf                                                                    \
	}

/* An architecture and the order of its user registers in a perf.data. harness/model/machine/ has a
 * file for each, which registers it with JP_DEFINE(machine, ...). */
struct jp_machine {
	const char *name; /* the name that uname() reports */
	uint16_t e_machine;
	const struct jp_machine_register *registers; /* indexed by perf's numbers */
	uint8_t nr_registers;
	uint8_t ip, sp;  /* DWARF numbers: indices into jp_regs */
	uint64_t mask;   /* mask of all registers that perf requests, by perf's numbers; 0: captures
			    request the registers of the @kernel machine */
	uint16_t kernel; /* e_machine of the machine whose 64-bit kernels run this machine's
			    programs; 0: its own kernels */
	const struct jp_machine_frames *frames; /* rules for unwinding */
};

/* Returns the machine with number @e_machine (EM_*), or NULL if it is not built in. */
const struct jp_machine *jp_machine_find(uint32_t e_machine);
/* Returns the machine of the 32-bit programs that kernels of @machine run, or NULL. */
const struct jp_machine *jp_machine_compat(const struct jp_machine *machine);
/* Returns the machine called @name, or NULL if it is not built in. */
const struct jp_machine *jp_machine_named(const char *name);
/* Returns the machine that has the registers in @mask, or NULL; if several have them, the one with
 * the fewest others. For files whose features name no machine, such as those that an old perf
 * records into a pipe. */
const struct jp_machine *jp_machine_guess(uint64_t mask);
