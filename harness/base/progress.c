// SPDX-License-Identifier: GPL-2.0-only
#include "harness/base/progress.h"

#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include "harness/base/clock.h"
#include "harness/base/terminal.h"

static const uint64_t patience = 2 * JP_NS_PER_S, interval = JP_NS_PER_S / 5;
static uint64_t next; /* time of the next update in ns; 0: the work has just begun */
static unsigned int width;
static bool is_shown;

void jp_progress_prepare(void)
{
	/* Some terminals break the line after the last column. */
	if (!width)
		width = jp_terminal_width(STDERR_FILENO) - 1;
}

void jp_progress_show(const char *fmt, ...)
{
	char line[512], cut[2048];
	va_list ap;

	if (!isatty(STDERR_FILENO))
		return;
	jp_progress_prepare();
	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	fprintf(stderr, "\r\033[K%s",
		jp_terminal_shorten(line, width, JP_CUT_END, cut, sizeof(cut)));
	is_shown = true;
}

bool jp_progress_is_due(void)
{
	static unsigned int calls;
	uint64_t now;

	/* Reading the clock takes longer than handling a record, so read it seldom. */
	if (next && ++calls % 256)
		return false;
	now = jp_clock_now();
	if (!next)
		next = now + patience;
	if (now < next)
		return false;
	next = now + interval;
	return true;
}

void jp_progress_clear(void)
{
	if (is_shown)
		fputs("\r\033[K", stderr);
	is_shown = false;
	next = 0;
}
