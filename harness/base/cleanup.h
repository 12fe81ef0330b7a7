/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/*
 * Variables that clean up at the end of their scope, in the reverse order of their declarations:
 *
 * jp_cleanup_free char *text = NULL; jp_cleanup_close int fd = open(...);
 *
 * Initialize each such variable where it is declared, with NULL or -1 if it has no value yet. The
 * cleanup preserves errno. Close a written file explicitly, because fclose() and close() may report
 * the last write error.
 */
#define jp_cleanup_free     __attribute__((cleanup(jp_free_at)))
#define jp_cleanup_close    __attribute__((cleanup(jp_close_at)))
#define jp_cleanup_fclose   __attribute__((cleanup(jp_fclose_at)))
#define jp_cleanup_closedir __attribute__((cleanup(jp_closedir_at)))

/* Returns the pointer *@place and sets *@place to NULL: `return jp_steal(&text);` */
#define jp_steal(place)                                                                            \
	({                                                                                         \
		__typeof__(*(place)) stolen_ = *(place);                                           \
		*(place) = NULL;                                                                   \
		stolen_;                                                                           \
	})

/* Returns the descriptor *@fd and sets *@fd to -1. */
static inline int jp_steal_fd(int *fd)
{
	int stolen = *fd;

	*fd = -1;
	return stolen;
}

static inline void jp_free_at(void *variable)
{
	int error = errno;
	void *memory;

	memcpy(&memory, variable, sizeof(memory));
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
