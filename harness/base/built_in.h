/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* A file that the Makefile puts into the binary, in a list whose last name is NULL. */
struct jp_built_in {
	const char *name, *start, *end;
};
