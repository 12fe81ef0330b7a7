/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Handles SIGBUS in a mapped file, which means that the file became shorter or its disk is full:
 * the process prints a message and ends with JP_EXIT_BROKEN. */
struct jp_lost_page {
	/* Texts for the message: the file and the error; must stay valid until
	 * jp_lost_page_end(). */
	const char *name, *trouble;
	void (*leave)(void); /* called by the signal handler before the process ends; or NULL */
};

/* Watches the @size > 0 bytes at @map. Returns 0 or -errno; -EMFILE: too many. */
int jp_lost_page_watch(const void *map, uint64_t size, const struct jp_lost_page *page_name);
/* Stops watching @map. Returns its size in bytes, or 0 if it was not watched. */
size_t jp_lost_page_end(const void *map);
