// SPDX-License-Identifier: GPL-2.0-only
#include "harness/base/registry.h"

#include <string.h>

/* Weak: a test binary may hold no entry of some kind. */
extern const void *const __start_jp_command[] __attribute__((weak));
extern const void *const __stop_jp_command[] __attribute__((weak));
extern const void *const __start_jp_workload[] __attribute__((weak));
extern const void *const __stop_jp_workload[] __attribute__((weak));
extern const void *const __start_jp_capture[] __attribute__((weak));
extern const void *const __stop_jp_capture[] __attribute__((weak));
extern const void *const __start_jp_validator[] __attribute__((weak));
extern const void *const __stop_jp_validator[] __attribute__((weak));
extern const void *const __start_jp_control[] __attribute__((weak));
extern const void *const __stop_jp_control[] __attribute__((weak));
extern const void *const __start_jp_publisher[] __attribute__((weak));
extern const void *const __stop_jp_publisher[] __attribute__((weak));
extern const void *const __start_jp_fact[] __attribute__((weak));
extern const void *const __stop_jp_fact[] __attribute__((weak));
extern const void *const __start_jp_machine[] __attribute__((weak));
extern const void *const __stop_jp_machine[] __attribute__((weak));

static const struct {
	const void *const *start, *const *stop;
} sections[JP_KINDS] = {
	[JP_COMMAND] = {__start_jp_command, __stop_jp_command},
	[JP_WORKLOAD] = {__start_jp_workload, __stop_jp_workload},
	[JP_CAPTURE] = {__start_jp_capture, __stop_jp_capture},
	[JP_VALIDATOR] = {__start_jp_validator, __stop_jp_validator},
	[JP_CONTROL] = {__start_jp_control, __stop_jp_control},
	[JP_PUBLISHER] = {__start_jp_publisher, __stop_jp_publisher},
	[JP_FACT] = {__start_jp_fact, __stop_jp_fact},
	[JP_MACHINE] = {__start_jp_machine, __stop_jp_machine},
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
