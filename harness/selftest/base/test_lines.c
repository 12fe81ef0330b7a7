// SPDX-License-Identifier: GPL-2.0-only
/* Tests reading lines from a pipe: in pieces, past deadlines, too long, with NUL bytes, to its
 * end. */
#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/base/clock.h"
#include "harness/base/interrupt.h"
#include "harness/base/lines.h"
#include "harness/selftest/support/check.h"

static int ends[2];

static void write_text(const char *text)
{
	if (write(ends[1], text, strlen(text)) != (ssize_t)strlen(text))
		check(false, "'%s' is written to the pipe", text);
}

TEST(lines)
{
	struct jp_lines lines = {.nr_filled = 0};
	pid_t writer;
	char text[64], overlong[sizeof(lines.text) + 1];
	uint64_t start;

	if (!check(!pipe2(ends, O_CLOEXEC), "a pipe is made"))
		return;
	write_text("one\ntwo\n\nthr");
	check(!jp_lines_next(&lines, ends[0], 0, text, sizeof(text)) && !strcmp(text, "one"),
	      "a buffered line is read past the deadline");
	check(!jp_lines_next(&lines, ends[0], 0, text, 3) && !strcmp(text, "tw"),
	      "a line is cut to the buffer's size");
	check(!jp_lines_next(&lines, ends[0], 0, text, sizeof(text)) && !*text, "an empty line");
	check(jp_lines_next(&lines, ends[0], 0, text, sizeof(text)) == -ETIMEDOUT,
	      "half a line times out");
	start = jp_clock_now();
	check(jp_lines_next(&lines, ends[0], start + 20 * JP_NS_PER_MS, text, sizeof(text)) ==
			      -ETIMEDOUT &&
		      jp_clock_now() >= start + 20 * JP_NS_PER_MS,
	      "the timeout does not end before the deadline");
	write_text("ee\n");
	check(!jp_lines_next(&lines, ends[0], UINT64_MAX, text, sizeof(text)) &&
		      !strcmp(text, "three"),
	      "both halves of a line are joined");

	check(write(ends[1], "on\0e\nnext\n", 10) == 10, "a line with a NUL byte is written");
	check(jp_lines_next(&lines, ends[0], 0, text, sizeof(text)) == -EBADMSG &&
		      !strcmp(text, "on"),
	      "a line with a NUL byte is an error");
	check(!jp_lines_next(&lines, ends[0], 0, text, sizeof(text)) && !strcmp(text, "next"),
	      "the line after it is read");

	writer = fork();
	if (!writer) {
		write_text("its last\n");
		_exit(0);
	}
	lines.writer = (int)syscall(SYS_pidfd_open, writer, 0);
	check(!jp_lines_next(&lines, ends[0], UINT64_MAX, text, sizeof(text)) &&
		      !strcmp(text, "its last"),
	      "the last line of an ended writer is read");
	check(jp_lines_next(&lines, ends[0], UINT64_MAX, text, sizeof(text)) == -EPIPE,
	      "the writer's end is reported while the pipe is still open");
	close(lines.writer);
	lines.writer = 0;
	waitpid(writer, NULL, 0);

	memset(overlong, 'x', sizeof(overlong) - 1);
	overlong[sizeof(overlong) - 1] = '\0';
	write_text(overlong);
	check(jp_lines_next(&lines, ends[0], UINT64_MAX, text, sizeof(text)) == -EPROTO,
	      "a line longer than the buffer is an error");
	lines.nr_filled = 0;

	check(!jp_interrupt_watch(), "signals are watched");
	raise(SIGTERM);
	write_text("last\n");
	check(!jp_lines_next(&lines, ends[0], UINT64_MAX, text, sizeof(text)) &&
		      !strcmp(text, "last"),
	      "a buffered line is read despite a signal");
	check(jp_lines_next(&lines, ends[0], UINT64_MAX, text, sizeof(text)) == -EINTR,
	      "a signal ends the wait for a line");
	close(ends[1]);
	check(jp_lines_next(&lines, ends[0], UINT64_MAX, text, sizeof(text)) == -EPIPE,
	      "the end of the pipe is reported");
}
