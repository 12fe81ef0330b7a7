// SPDX-License-Identifier: GPL-2.0-only
#include "harness/base/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "harness/base/printable.h"
#include "harness/base/shortage.h"

static void append_text(struct jp_error *err, const char *text)
{
	const size_t length = strlen(err->text);

	snprintf(err->text + length, sizeof(err->text) - length, "%s", text);
}

int jp_fail(struct jp_error *err, int code, const char *fmt, ...)
{
	va_list ap;

	/* EIO may be our own code for errors that have nothing to do with a disk. */
	if (code != EIO)
		jp_shortage_note(code);
	if (err) {
		va_start(ap, fmt);
		vsnprintf(err->text, sizeof(err->text), fmt, ap);
		va_end(ap);
		if (code == EMFILE && !strstr(err->text, "ulimit"))
			append_text(err, " (ulimit -n raises the limit of descriptors)");
		if (code == EFBIG)
			append_text(err, " (ulimit -f raises the limit of a file's size)");
		jp_printable(err->text);
	}
	return -code;
}
