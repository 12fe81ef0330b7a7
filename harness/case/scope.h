/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>

/*
 * Where an expectation holds: "perf 6.1..6.12" where env.json records such a perf; "kernel ..6.5",
 * "perf 7.2.." (open ends) and "perf 6.1" (any 6.1.N) too. A bound has as many numbers as matter:
 * 6.12.40 lies within ..6.12. TOOL is `kernel`, `qemu` (the version that the name of an emulated
 * CPU states), or one of env.json's tools.
 */
struct jp_scope {
	char tool[16]; /* "": everywhere */
	char from[24], to[24];
};

/* Of @tool and @range as written. False where they are neither. */
bool jp_scope_parse(const char *tool, const char *range, struct jp_scope *scope);
/* @environment: the text of env.json, NULL where there is none. What it does not record lies in no
 * range. */
bool jp_scope_holds(const struct jp_scope *scope, const char *environment);
/* Whether QEMU emulates a CPU of this name, as "QEMU Virtual CPU version 2.5+": with KVM it is
 * called as the real one. */
bool jp_cpu_is_emulated(const char *name);
