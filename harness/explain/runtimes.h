/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* Options of a runtime that emits code. NULL: it has none, or none is known. */
struct jp_runtime {
	const char *name;      /* its programs' names begin so */
	const char *names;     /* publishes names of functions */
	const char *frames;    /* keeps frame pointers */
	const char *unwinding; /* writes a jitdump with unwind information */
};
/* Returns the runtime whose program or library is called @file, or NULL. */
const struct jp_runtime *jp_runtime_find(const char *file);
