// SPDX-License-Identifier: GPL-2.0-only
#include "harness/format/perfdata/machine.h"

#include <stdbool.h>
#include <stddef.h>

#include "harness/base/registry.h"

const struct jp_machine *jp_machine_find(uint32_t e_machine)
{
	const struct jp_machine *machine = NULL;

	while ((machine = jp_registry_next(JP_MACHINE, machine)) && machine->e_machine != e_machine)
		;
	return machine;
}

const struct jp_machine *jp_machine_compat(const struct jp_machine *machine)
{
	const struct jp_machine *compat = NULL;

	while ((compat = jp_registry_next(JP_MACHINE, compat)) &&
	       compat->kernel != machine->e_machine)
		;
	return compat;
}

const struct jp_machine *jp_machine_named(const char *name)
{
	return jp_registry_find(JP_MACHINE, name);
}

static bool is_register_mask_of(const struct jp_machine *machine, uint64_t mask)
{
	uint64_t pointers = 0;

	for (unsigned int i = 0; i < machine->nr_registers; i++)
		if (machine->registers[i].number == machine->ip ||
		    machine->registers[i].number == machine->sp)
			pointers |= UINT64_C(1) << i;
	return (mask & pointers) == pointers && !(mask & ~machine->mask);
}

const struct jp_machine *jp_machine_guess(uint64_t mask)
{
	const struct jp_machine *machine = NULL, *best = NULL;

	while ((machine = jp_registry_next(JP_MACHINE, machine)))
		if (is_register_mask_of(machine, mask) &&
		    (!best ||
		     __builtin_popcountll(machine->mask) < __builtin_popcountll(best->mask)))
			best = machine;
	return best;
}
