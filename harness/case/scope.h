/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>

/*
 * Tools to which an expectation applies: "perf 6.1..6.12" if env.json records such a perf; also
 * "kernel ..6.5", "perf 7.2.." (open ends) and "perf 6.1" (any 6.1.N). A bound has as many numbers
 * as matter: 6.12.40 is within ..6.12. TOOL is `kernel`, a machine such as `aarch64` (the version
 * of its kernel), `qemu` (the version in the name of an emulated CPU), or a tool of env.json.
 */
struct jp_scope {
	char tool[16]; /* "": everywhere */
	char from[24], to[24];
};

/* Parses @tool and @range. Returns false if they are bad. */
bool jp_scope_parse(const char *tool, const char *range, struct jp_scope *scope);
/* Returns whether @scope applies. @environment: text of env.json, or NULL. A tool that it does not
 * record is in no range. */
bool jp_scope_holds(const struct jp_scope *scope, const char *environment);
