// SPDX-License-Identifier: GPL-2.0-only
#include "harness/base/registry.h"

#include <string.h>

/* Weak: a test binary may hold no entry of some kind. */
#define SECTION(name)                                                                              \
	extern const void *const __start_jp_##name[] __attribute__((weak));                        \
	extern const void *const __stop_jp_##name[] __attribute__((weak));
#define RANGE(name)                                                                                \
	{                                                                                          \
		__start_jp_##name, __stop_jp_##name                                                \
	}

SECTION(command)
SECTION(workload)
SECTION(capture)
SECTION(validator)
SECTION(control)
SECTION(publisher)
SECTION(fact)
SECTION(machine)
SECTION(explainer)
SECTION(lint_rule)

static const struct {
	const void *const *start, *const *stop;
} sections[JP_KINDS] = {
	[JP_COMMAND] = RANGE(command),     [JP_WORKLOAD] = RANGE(workload),
	[JP_CAPTURE] = RANGE(capture),     [JP_VALIDATOR] = RANGE(validator),
	[JP_CONTROL] = RANGE(control),     [JP_PUBLISHER] = RANGE(publisher),
	[JP_FACT] = RANGE(fact),           [JP_MACHINE] = RANGE(machine),
	[JP_EXPLAINER] = RANGE(explainer), [JP_LINT_RULE] = RANGE(lint_rule),
};

static const char *name_of(const void *entry)
{
	return *(const char *const *)entry;
}

const void *jp_registry_find(enum jp_kind kind, const char *name)
{
	for (const void *const *entry = sections[kind].start; entry < sections[kind].stop; entry++)
		if (strcmp(name_of(*entry), name) == 0)
			return *entry;
	return NULL;
}

const void *jp_registry_at(enum jp_kind kind, size_t index)
{
	const void *const *start = sections[kind].start, *const *stop = sections[kind].stop;

	/* The entry with exactly @index smaller names; sections are short. */
	for (const void *const *entry = start; entry < stop; entry++) {
		size_t smaller = 0;

		for (const void *const *other = start; other < stop; other++)
			smaller += strcmp(name_of(*other), name_of(*entry)) < 0;
		if (smaller == index)
			return *entry;
	}
	return NULL;
}
