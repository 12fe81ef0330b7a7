/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stddef.h>

/*
 * Commands, workloads, publishers, captures, validators, controls, facts, machines, explainers,
 * lint rules, excuses and texts of metrics register themselves as const data, below the function
 * that they name, in a linker section of their own. The core walks the section and names none of
 * them. Objects must be linked directly: an archive would drop registrations silently.
 *
 * Every registered struct starts with `const char *name`.
 */

/* Defines and registers the const struct jp_KIND @object; its initializer follows. */
#define JP_DEFINE(kind, object)                                                                    \
	static const struct jp_##kind object;                                                      \
	JP_REGISTER_MANY(kind, object, &(object), 1);                                              \
	static const struct jp_##kind object
/* Registers each row of an array. */
#define JP_REGISTER_ROWS(kind, rows)                                                               \
	JP_REGISTER_MANY(kind, rows, rows, sizeof(rows) / sizeof(*(rows)))
#define JP_REGISTER_MANY(kind, object, first, count)                                               \
	static const struct jp_registered object##_many = {first, count, sizeof(*(first))};        \
	static const struct jp_registered *const object##_entry                                    \
		__attribute__((used, section("jp_" #kind))) = &object##_many

struct jp_registered {
	const void *first;
	size_t count, size; /* number of entries; size of one entry in bytes */
};

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
	JP_EXCUSE,
	JP_METRIC_TEXT,
	JP_KINDS
};

/* Returns the entry @name, or NULL. */
const void *jp_registry_find(enum jp_kind kind, const char *name);
/* Stores a question such as "; did you mean 'run'?" in @text, or "" if no entry's name resembles
 * @word. Returns @text. */
const char *jp_registry_hint(enum jp_kind kind, const char *word, char *text, size_t size);
/* Returns the entry whose name follows that of @previous in alphabetical order, or the first entry
 * if @previous is NULL. Returns NULL after the last entry. */
const void *jp_registry_next(enum jp_kind kind, const void *previous);
