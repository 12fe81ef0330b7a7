/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stddef.h>
#include <stdint.h>

/*
 * A page of a mapped file that cannot be had: the file became shorter, or its disk is full. Nobody
 * can go on then: the process says so on standard error and ends with JP_EXIT_BROKEN.
 */
struct jp_lost_page {
	const char *name, *trouble; /* whose it is, and what is wrong then: both live as long */
	void (*leave)(void); /* called before the process ends, by a signal's handler; or NULL */
};

/* Watches the @size > 0 bytes at @map. 0 or -errno; -EMFILE: too many. */
int jp_lost_page_watch(const void *map, uint64_t size, const struct jp_lost_page *what);
/* Does so no more. How many bytes that were; 0: none at @map. */
size_t jp_lost_page_end(const void *map);
