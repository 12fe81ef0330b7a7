// SPDX-License-Identifier: GPL-2.0-only
/* The line that shows how far the work is. */
#include "harness/base/progress.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "harness/base/clock.h"
#include "harness/base/order.h"
#include "harness/selftest/support/check.h"

/* Returns the time in ns until progress is due. */
static uint64_t measure_patience(void)
{
	const uint64_t begin = jp_clock_now();

	while (!jp_progress_is_due())
		;
	return jp_clock_now() - begin;
}

/* Returns the shortest of some waits: a busy machine lengthens single waits. */
static uint64_t measure_least_patience(void)
{
	uint64_t min = UINT64_MAX;

	for (int i = 0; i < 5; i++)
		min = jp_min(min, measure_patience());
	return min;
}

static void test_terminal(void)
{
	struct winsize size = {.ws_row = 24, .ws_col = 50};
	int main_end = posix_openpt(O_RDWR | O_NOCTTY), terminal_end;
	const int saved_stderr = dup(STDERR_FILENO);
	char text[200] = "";
	size_t length = 0;
	ssize_t nr_read;

	if (main_end < 0 || grantpt(main_end) || unlockpt(main_end))
		return;
	terminal_end = open(ptsname(main_end), O_RDWR | O_NOCTTY);
	if (terminal_end < 0)
		return;
	ioctl(terminal_end, TIOCSWINSZ, &size);
	dup2(terminal_end, STDERR_FILENO);
	jp_progress_show("%s", "0123456789 0123456789 0123456789 0123456789 0123456789");
	jp_progress_clear();
	jp_progress_clear();
	dup2(saved_stderr, STDERR_FILENO);
	close(terminal_end);
	/* The kernel passes the bytes on later, and fails a read() after the last byte. */
	while ((nr_read = read(main_end, text + length, sizeof(text) - 1 - length)) > 0)
		length += (size_t)nr_read;
	check(!strcmp(text, "\r\033[K0123456789 0123456789 0123456789 0123456789 01"
			    "...\r\033[K"),
	      "the line is cut to the terminal, and removed once");
}

TEST(progress)
{
	unsetenv("COLUMNS");
	check(!jp_progress_is_due(), "nothing is due at first");
	check(measure_patience() > 19 * JP_NS_PER_S / 10, "but after two seconds");
	check(measure_least_patience() < JP_NS_PER_S, "and again soon");
	test_terminal();
	check(!jp_progress_is_due(), "other work has its own two seconds");
}
