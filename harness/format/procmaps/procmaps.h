/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "harness/base/error.h"

/* One line of /proc/PID/maps. */
struct jp_procmap {
	uint64_t start, end, offset;
	uint8_t prot; /* enum jp_prot */
	char shared;  /* 's' or 'p' */
	uint32_t maj, min;
	uint64_t ino;
	/* "" where the line has none; "\012" is decoded to a newline; a " (deleted)" at its end is
	 * kept, as the kernel's MMAP2 records keep it. */
	const char *name;
};

/*
 * Parses maps text of @size bytes (not NUL-terminated). *@maps is allocated in one piece with its
 * names; free() it. -EINVAL with the line's number and what was expected.
 */
int jp_procmaps_parse(const char *text, size_t size, struct jp_procmap **maps, size_t *count,
		      struct jp_error *err);
