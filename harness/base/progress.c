// SPDX-License-Identifier: GPL-2.0-only
#include "harness/base/progress.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

#include "harness/base/clock.h"
#include "harness/base/terminal.h"

static const uint64_t patience = 2 * JP_NS_PER_S, interval = JP_NS_PER_S / 5;
static bool shown;

static void show_line(const char *fmt, va_list ap)
{
	char line[512], cut[2048];

	if (!isatty(STDERR_FILENO))
		return;
	vsnprintf(line, sizeof(line), fmt, ap);
	/* Some terminals break the line after the last column. */
	jp_terminal_shorten(line, jp_terminal_width(STDERR_FILENO) - 1, JP_CUT_END, cut,
			    sizeof(cut));
	fprintf(stderr, "\r\033[K%s", cut);
	shown = true;
}

void jp_progress_show(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	show_line(fmt, ap);
	va_end(ap);
}

void jp_progress_tick(const char *fmt, ...)
{
	static uint64_t next;
	const uint64_t now = jp_clock_now();
	va_list ap;

	if (!next)
		next = now + patience;
	if (now < next)
		return;
	next = now + interval;
	va_start(ap, fmt);
	show_line(fmt, ap);
	va_end(ap);
}

void jp_progress_clear(void)
{
	if (shown)
		fputs("\r\033[K", stderr);
	shown = false;
}
