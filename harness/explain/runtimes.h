/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* A runtime that emits code, and its options for profiling. NULL: no such option is known. */
struct jp_runtime {
	const char *name;      /* prefix of its programs' names */
	const char *names;     /* option that publishes names of functions */
	const char *frames;    /* option that keeps frame pointers */
	const char *unwinding; /* option that writes a jitdump with unwinding information */
};
/* Returns the runtime whose program or library is called @file, or NULL. */
const struct jp_runtime *jp_runtime_find(const char *file);
