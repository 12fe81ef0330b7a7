/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* A file that the Makefile embeds in the binary: bytes [@start, @end). The last entry of a list of
 * such files has @name NULL. */
struct jp_built_in {
	const char *name, *start, *end;
};
