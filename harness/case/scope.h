/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>

/*
 * The tool and its versions to which an expectation applies. "perf 6.1..6.12" holds if env.json
 * records a perf of such a version. Ranges may be open ("kernel ..6.5", "perf 7.2..") or a single
 * version ("perf 6.1", any 6.1.N). Only as many numbers as a bound has are compared: 6.12.40 is
 * within ..6.12. TOOL is `kernel`, a machine such as `aarch64` (the version of its kernel), `qemu`
 * (the version in the name of an emulated CPU), or a tool of env.json.
 */
struct jp_scope {
	char tool[16]; /* "": the expectation applies everywhere */
	char first_version[24], last_version[24];
};

/* Parses @tool and @range. Returns false if they are bad. */
bool jp_scope_parse(const char *tool, const char *range, struct jp_scope *scope);
/* Returns whether @scope applies. @environment: text of env.json, or NULL. Returns false if it does
 * not record the tool. */
bool jp_scope_holds(const struct jp_scope *scope, const char *environment);
