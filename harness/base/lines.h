/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Lines from a pipe that another program writes; starts as all zero. */
struct jp_lines {
	char text[1024]; /* read, but not yet returned */
	size_t filled;
	/* A pidfd of the writer, whose end is the end of file even if others hold the pipe open; 0:
	 * unknown. */
	int writer;
};

/*
 * Reads the next line from @fd into @text, without its newline, cut to @size. Returns 0; -EPIPE:
 * end of file; -EPROTO: no newline in the space of @lines; -EBADMSG: the line has a NUL byte, at
 * which @text ends; -ETIMEDOUT: after @deadline (CLOCK_MONOTONIC, ns); -EINTR: the run was
 * interrupted (harness/base/interrupt.h); or -errno. Data that was written before counts in each
 * case.
 */
int jp_lines_next(struct jp_lines *lines, int fd, uint64_t deadline, char *text, size_t size);
/* Waits until @fd is readable or at its end. Returns 0, or an error as above. */
int jp_wait_readable(int fd, uint64_t deadline);
