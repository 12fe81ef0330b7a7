// SPDX-License-Identifier: GPL-2.0-only
#include "harness/base/lines.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "harness/base/clock.h"
#include "harness/base/interrupt.h"

int jp_wait_readable(int fd, uint64_t deadline)
{
	struct pollfd fds[2] = {{.fd = fd, .events = POLLIN},
				{.fd = jp_interrupt_fd(), .events = POLLIN}};

	for (;;) {
		int ret = poll(fds, 2, jp_clock_left_ms(deadline));

		if (ret > 0 && fds[0].revents)
			return 0;
		if (jp_interrupt_signal())
			return -EINTR;
		if (ret < 0 && errno != EINTR)
			return -errno;
		if (jp_clock_now() >= deadline)
			return -ETIMEDOUT;
	}
}

int jp_lines_next(struct jp_lines *lines, int fd, uint64_t deadline, char *text, size_t size)
{
	for (;;) {
		char *end = memchr(lines->text, '\n', lines->filled);
		ssize_t got;
		int ret;

		if (end) {
			size_t length = (size_t)(end - lines->text);

			snprintf(text, size, "%.*s", (int)length, lines->text);
			lines->filled -= length + 1;
			memmove(lines->text, end + 1, lines->filled);
			return 0;
		}
		if (lines->filled == sizeof(lines->text))
			return -EPROTO;
		ret = jp_wait_readable(fd, deadline);
		if (ret)
			return ret;
		got = read(fd, lines->text + lines->filled, sizeof(lines->text) - lines->filled);
		if (got == 0)
			return -EPIPE;
		if (got < 0 && errno != EINTR)
			return -errno;
		lines->filled += got > 0 ? (size_t)got : 0;
	}
}
