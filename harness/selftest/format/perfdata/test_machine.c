// SPDX-License-Identifier: GPL-2.0-only
/* Guessing the machine of a perf.data by its mask of registers. */
#include "harness/base/registry.h"
#include "harness/format/perfdata/machine.h"
#include "harness/selftest/support/check.h"

TEST(machine)
{
	const struct jp_machine *machine = NULL;

	while ((machine = jp_registry_next(JP_MACHINE, machine))) {
		const struct jp_machine *guess = jp_machine_guess(machine->mask);

		/* Captures of 32-bit tasks have the mask of the kernel's machine. */
		check(guess == (machine->kernel ? NULL : machine), "the mask of %s gives %s",
		      machine->name, guess ? guess->name : "no machine");
	}
	check(!jp_machine_guess(0), "an empty mask gives no machine");
	check(!jp_machine_guess(UINT64_MAX), "a mask of too many registers gives none");
}
