/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/*
 * Variables that clean up when they go out of scope, in the reverse order of their declarations:
 *
 *	jp_cleanup_free char *text = NULL;
 *	jp_cleanup_close int fd = open(...);
 *
 * Each must be initialized where it is declared, NULL or -1 where there is nothing yet. errno stays
 * as it is. A file that was written to is closed by hand: its last error comes then.
 */
#define jp_cleanup_free     __attribute__((cleanup(jp_free_at)))
#define jp_cleanup_close    __attribute__((cleanup(jp_close_at)))
#define jp_cleanup_fclose   __attribute__((cleanup(jp_fclose_at)))
#define jp_cleanup_closedir __attribute__((cleanup(jp_closedir_at)))

/* The value of the pointer at @place, which is NULL from then on: `return jp_steal(&text);` */
#define jp_steal(place)                                                                            \
	({                                                                                         \
		__typeof__(*(place)) stolen_ = *(place);                                           \
		*(place) = NULL;                                                                   \
		stolen_;                                                                           \
	})

/* The same of a descriptor, which is -1 from then on. */
static inline int jp_steal_fd(int *fd)
{
	int stolen = *fd;

	*fd = -1;
	return stolen;
}

static inline void jp_free_at(void *at)
{
	int error = errno;
	void *memory;

	memcpy(&memory, at, sizeof(memory)); /* a pointer of any type */
	free(memory);
	errno = error;
}

static inline void jp_close_at(int *fd)
{
	int error = errno;

	if (*fd >= 0)
		close(*fd);
	errno = error;
}

static inline void jp_fclose_at(FILE **file)
{
	int error = errno;

	if (*file)
		fclose(*file);
	errno = error;
}

static inline void jp_closedir_at(DIR **dir)
{
	int error = errno;

	if (*dir)
		closedir(*dir);
	errno = error;
}
