/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef JP_REGISTRY_H
#define JP_REGISTRY_H

#include <stddef.h>

/*
 * Commands, workloads, publishers, captures, validators, controls, facts, machines, explainers and
 * rules of lint register themselves as const data, under the function that they name, in a linker
 * section of their own. The core walks the section and names none of them. Objects are linked
 * directly: an archive would drop registrations silently.
 *
 * Every registered struct starts with `const char *name`.
 */
#define JP_REGISTER(kind, object)                                                                  \
	static const void *const object##_entry __attribute__((used, section("jp_" #kind))) =      \
		&(object)

enum jp_kind {
	JP_COMMAND,
	JP_WORKLOAD,
	JP_CAPTURE,
	JP_VALIDATOR,
	JP_CONTROL,
	JP_PUBLISHER,
	JP_FACT,
	JP_MACHINE,
	JP_EXPLAINER,
	JP_LINT_RULE,
	JP_KINDS
};

/* The entry called @name, or NULL. */
const void *jp_registry_find(enum jp_kind kind, const char *name);
/* The @index-th entry in the order of names, or NULL past the end (the section's own order is the
 * linker's). */
const void *jp_registry_at(enum jp_kind kind, size_t index);

#endif
