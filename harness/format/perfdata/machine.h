/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdint.h>

/* One of perf's registers. */
struct jp_machine_register {
	signed char number;   /* DWARF's; -1: not kept (flags) */
	uint64_t mask, value; /* of those: the bits of @mask are @value wherever a thread is in
			       * user space */
};

/*
 * An architecture, and how its user registers stand in a perf.data. harness/model/machine/ has a
 * file for each, which registers one of these with JP_REGISTER(machine, ...).
 */
struct jp_machine {
	const char *name; /* as uname() has it */
	uint16_t e_machine;
	const struct jp_machine_register *registers; /* by perf's numbers */
	uint8_t nr_registers;
	uint8_t ip, sp;                         /* DWARF's numbers: indexes into jp_regs */
	uint64_t mask;                          /* all that perf asks for, by its own numbers */
	const struct jp_machine_frames *frames; /* what unwinding knows of it */
};

/* NULL: it is not built in. */
const struct jp_machine *jp_machine_find(uint32_t e_machine);
const struct jp_machine *jp_machine_named(const char *name);
/* Whose registers @mask asks for: of no two machines the same. For files without features, such as
 * that of a recording into a pipe of an old perf. */
const struct jp_machine *jp_machine_guess(uint64_t mask);
