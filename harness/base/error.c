// SPDX-License-Identifier: GPL-2.0-only
#include "harness/base/error.h"

#include <stdarg.h>
#include <stdio.h>

int jp_fail(struct jp_error *err, int code, const char *fmt, ...)
{
	va_list ap;

	if (err) {
		va_start(ap, fmt);
		vsnprintf(err->text, sizeof(err->text), fmt, ap);
		va_end(ap);
	}
	return -code;
}
