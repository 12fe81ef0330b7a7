/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Lines from a pipe, as another program writes them; all zero to start with. */
struct jp_lines {
	char text[1024]; /* read and not taken yet */
	size_t filled;
	/* A pidfd of who writes, whose end is the end of the file, whoever else holds that; 0: none
	 * is known. */
	int writer;
};

/*
 * The next line from @fd into @text, without its newline; what is longer than @size is cut. 0;
 * -EPIPE: the end of the file; -EPROTO: there is no newline in as much as @lines holds; -EBADMSG: a
 * line with a NUL byte, which is taken up to there; -ETIMEDOUT: past @deadline (CLOCK_MONOTONIC,
 * ns); -EINTR: the run was interrupted (harness/base/interrupt.h);
 * or -errno. What was written before counts, past the deadline or interrupted.
 */
int jp_lines_next(struct jp_lines *lines, int fd, uint64_t deadline, char *text, size_t size);
/* 0 when @fd is readable, or at its end; else as above. */
int jp_wait_readable(int fd, uint64_t deadline);
