// SPDX-License-Identifier: GPL-2.0-only
#include "harness/base/lines.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "harness/base/clock.h"
#include "harness/base/interrupt.h"

/* Waits for data. Returns -EPIPE if there is none and the process of @pidfd (-1: none) has
 * ended. */
static int wait_for_data(int fd, int pidfd, uint64_t deadline)
{
	struct pollfd fds[3] = {{.fd = fd, .events = POLLIN},
				{.fd = jp_interrupt_fd(), .events = POLLIN},
				{.fd = pidfd, .events = POLLIN}};

	for (;;) {
		int ret = poll(fds, 3, jp_clock_ms_until(deadline));

		if (ret > 0 && fds[0].revents)
			return 0;
		if (ret > 0 && fds[2].revents)
			return -EPIPE;
		if (jp_interrupt_signal())
			return -EINTR;
		if (ret < 0 && errno != EINTR)
			return -errno;
		if (jp_clock_now() >= deadline)
			return -ETIMEDOUT;
	}
}

int jp_wait_readable(int fd, uint64_t deadline)
{
	return wait_for_data(fd, -1, deadline);
}

/* Moves the first line of the buffer, whose newline is at @end, to @text. */
static int take_line(struct jp_lines *lines, const char *end, char *text, size_t size)
{
	const size_t length = (size_t)(end - lines->text);
	const bool is_text = !memchr(lines->text, '\0', length);

	snprintf(text, size, "%.*s", (int)length, lines->text);
	lines->nr_filled -= length + 1;
	memmove(lines->text, end + 1, lines->nr_filled);
	return is_text ? 0 : -EBADMSG;
}

int jp_lines_next(struct jp_lines *lines, int fd, uint64_t deadline, char *text, size_t size)
{
	for (;;) {
		const char *end = memchr(lines->text, '\n', lines->nr_filled);
		ssize_t nr_read;
		int ret;

		if (end)
			return take_line(lines, end, text, size);
		if (lines->nr_filled == sizeof(lines->text))
			return -EPROTO;
		ret = wait_for_data(fd, lines->writer ?: -1, deadline);
		if (ret)
			return ret;
		nr_read = read(fd, lines->text + lines->nr_filled,
			       sizeof(lines->text) - lines->nr_filled);
		if (nr_read == 0)
			return -EPIPE;
		if (nr_read < 0 && errno != EINTR)
			return -errno;
		lines->nr_filled += nr_read > 0 ? (size_t)nr_read : 0;
	}
}
