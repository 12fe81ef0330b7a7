// SPDX-License-Identifier: GPL-2.0-only
/* A file that names no machine: whose registers does it hold? */
#include "harness/base/registry.h"
#include "harness/format/perfdata/machine.h"
#include "harness/selftest/support/check.h"

int main(void)
{
	const struct jp_machine *machine = NULL;

	while ((machine = jp_registry_next(JP_MACHINE, machine))) {
		const struct jp_machine *found = jp_machine_guess(machine->mask);

		check(found == machine, "all registers of %s are those of %s", machine->name,
		      found ? found->name : "no machine");
	}
	check(!jp_machine_guess(0), "no registers are no machine's");
	check(!jp_machine_guess(UINT64_MAX), "more than any machine has are none's");
	return check_done();
}
