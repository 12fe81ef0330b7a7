/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Handles a lost page of a mapped file: the file became shorter, or its disk is full. The process
 * prints a message and ends with JP_EXIT_BROKEN. */
struct jp_lost_page {
	const char *name, *trouble; /* the file, and the error; both must live as long */
	void (*leave)(void); /* called by the signal handler before the process ends; or NULL */
};

/* Watches the @size > 0 bytes at @map. Returns 0 or -errno; -EMFILE: too many. */
int jp_lost_page_watch(const void *map, uint64_t size, const struct jp_lost_page *what);
/* Ends watching @map. Returns its size in bytes; 0: it was not watched. */
size_t jp_lost_page_end(const void *map);
