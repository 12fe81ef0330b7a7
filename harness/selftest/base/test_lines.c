// SPDX-License-Identifier: GPL-2.0-only
/* Lines from a pipe: in pieces, past deadlines, too long, no text, to its end. */
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

static void put(const char *text)
{
	if (write(ends[1], text, strlen(text)) != (ssize_t)strlen(text))
		check(false, "the pipe takes '%s'", text);
}

int main(void)
{
	struct jp_lines lines = {.filled = 0};
	pid_t writer;
	char text[64], overlong[sizeof(lines.text) + 1];
	uint64_t start;

	if (!check(!pipe2(ends, O_CLOEXEC), "a pipe"))
		return check_done();
	put("one\ntwo\n\nthr");
	check(!jp_lines_next(&lines, ends[0], 0, text, sizeof(text)) && !strcmp(text, "one"),
	      "what is there is taken past the deadline");
	check(!jp_lines_next(&lines, ends[0], 0, text, 3) && !strcmp(text, "tw"),
	      "as much as fits");
	check(!jp_lines_next(&lines, ends[0], 0, text, sizeof(text)) && !*text, "an empty line");
	check(jp_lines_next(&lines, ends[0], 0, text, sizeof(text)) == -ETIMEDOUT,
	      "half a line is none");
	start = jp_clock_now();
	check(jp_lines_next(&lines, ends[0], start + 20 * JP_NS_PER_MS, text, sizeof(text)) ==
			      -ETIMEDOUT &&
		      jp_clock_now() >= start + 20 * JP_NS_PER_MS,
	      "not before the deadline");
	put("ee\n");
	check(!jp_lines_next(&lines, ends[0], UINT64_MAX, text, sizeof(text)) &&
		      !strcmp(text, "three"),
	      "until its other half comes");

	check(write(ends[1], "on\0e\nnext\n", 10) == 10, "a NUL byte is written");
	check(jp_lines_next(&lines, ends[0], 0, text, sizeof(text)) == -EBADMSG &&
		      !strcmp(text, "on"),
	      "a NUL byte is no text");
	check(!jp_lines_next(&lines, ends[0], 0, text, sizeof(text)) && !strcmp(text, "next"),
	      "the line after it is");

	writer = fork();
	if (!writer) {
		put("its last\n");
		_exit(0);
	}
	lines.writer = (int)syscall(SYS_pidfd_open, writer, 0);
	check(!jp_lines_next(&lines, ends[0], UINT64_MAX, text, sizeof(text)) &&
		      !strcmp(text, "its last"),
	      "what a process said");
	check(jp_lines_next(&lines, ends[0], UINT64_MAX, text, sizeof(text)) == -EPIPE,
	      "its end is the end, though the pipe is still open");
	close(lines.writer);
	lines.writer = 0;
	waitpid(writer, NULL, 0);

	memset(overlong, 'x', sizeof(overlong) - 1);
	overlong[sizeof(overlong) - 1] = '\0';
	put(overlong);
	check(jp_lines_next(&lines, ends[0], UINT64_MAX, text, sizeof(text)) == -EPROTO,
	      "a line has an end");
	lines.filled = 0;

	check(!jp_interrupt_watch(), "interrupts are watched");
	raise(SIGTERM);
	put("last\n");
	check(!jp_lines_next(&lines, ends[0], UINT64_MAX, text, sizeof(text)) &&
		      !strcmp(text, "last"),
	      "what is there is taken, interrupted or not");
	check(jp_lines_next(&lines, ends[0], UINT64_MAX, text, sizeof(text)) == -EINTR,
	      "an interrupt ends the wait");
	close(ends[1]);
	check(jp_lines_next(&lines, ends[0], UINT64_MAX, text, sizeof(text)) == -EPIPE,
	      "the end of the file");
	return check_done();
}
