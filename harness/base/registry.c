// SPDX-License-Identifier: GPL-2.0-only
#include "harness/base/registry.h"

#include <string.h>

#include "harness/base/nearest.h"

/* Weak symbols: a test binary may have no entry of some kind. */
#define SECTION(name)                                                                              \
	extern const struct jp_registered *const __start_jp_##name[] __attribute__((weak));        \
	extern const struct jp_registered *const __stop_jp_##name[] __attribute__((weak));
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
SECTION(excuse)
SECTION(metric_text)

static const struct {
	const struct jp_registered *const *start, *const *stop;
} sections[JP_KINDS] = {
	[JP_COMMAND] = RANGE(command),     [JP_WORKLOAD] = RANGE(workload),
	[JP_CAPTURE] = RANGE(capture),     [JP_VALIDATOR] = RANGE(validator),
	[JP_CONTROL] = RANGE(control),     [JP_PUBLISHER] = RANGE(publisher),
	[JP_FACT] = RANGE(fact),           [JP_MACHINE] = RANGE(machine),
	[JP_EXPLAINER] = RANGE(explainer), [JP_LINT_RULE] = RANGE(lint_rule),
	[JP_EXCUSE] = RANGE(excuse),       [JP_METRIC_TEXT] = RANGE(metric_text),
};

static const char *get_name(const void *entry)
{
	return *(const char *const *)entry;
}

/* Returns entry number @nth of @kind in the linker's order, or NULL after the last. */
static const void *get_entry(enum jp_kind kind, size_t nth)
{
	for (const struct jp_registered *const *many = sections[kind].start;
	     many < sections[kind].stop; nth -= (*many++)->count)
		if (nth < (*many)->count)
			return (const char *)(*many)->first + nth * (*many)->size;
	return NULL;
}

const void *jp_registry_next(enum jp_kind kind, const void *previous)
{
	const void *next = NULL, *entry;

	for (size_t i = 0; (entry = get_entry(kind, i)); i++)
		if ((!previous || strcmp(get_name(entry), get_name(previous)) > 0) &&
		    (!next || strcmp(get_name(entry), get_name(next)) < 0))
			next = entry;
	return next;
}

const void *jp_registry_find(enum jp_kind kind, const char *name)
{
	const void *entry;

	for (size_t i = 0; (entry = get_entry(kind, i)); i++)
		if (strcmp(get_name(entry), name) == 0)
			return entry;
	return NULL;
}

const char *jp_registry_hint(enum jp_kind kind, const char *word, char *text, size_t size)
{
	struct jp_nearest nearest = {.word = word};
	const void *entry = NULL;

	while ((entry = jp_registry_next(kind, entry)))
		jp_nearest_compare(&nearest, get_name(entry));
	return jp_nearest_hint(&nearest, text, size);
}
