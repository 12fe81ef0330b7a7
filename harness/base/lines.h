/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* A buffer for reading lines from a pipe that another program writes; starts as all zero. */
struct jp_lines {
	char text[1024]; /* bytes that were read, but not yet returned */
	size_t nr_filled;
	/* A pidfd of the writing process; 0: unknown. Its exit counts as the end of file, even if
	 * other processes keep the pipe open. */
	int writer;
};

/*
 * Reads the next line from @fd into @text, without its newline, cut to @size. Returns 0; -EPIPE:
 * end of file; -EPROTO: no newline in the space of @lines; -EBADMSG: the line has a NUL byte, at
 * which @text ends; -ETIMEDOUT: after @deadline (CLOCK_MONOTONIC, ns); -EINTR: the run was
 * interrupted (harness/base/interrupt.h); or -errno. Complete lines that were written before such
 * an event are returned first.
 */
int jp_lines_next(struct jp_lines *lines, int fd, uint64_t deadline, char *text, size_t size);
/* Waits until @fd is readable or at its end. Returns 0, or an error as jp_lines_next() does. */
int jp_wait_readable(int fd, uint64_t deadline);
