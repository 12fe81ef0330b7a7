// SPDX-License-Identifier: GPL-2.0-only
#include "harness/base/path.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int jp_path_build(char *path_out, size_t size, struct jp_error *err, const char *fmt, ...)
{
	va_list ap;
	int length, ret = 0;

	va_start(ap, fmt);
	length = vsnprintf(path_out, size, fmt, ap);
	va_end(ap);
	if (length < 0 || (size_t)length >= size) {
		ret = jp_fail(err, ENAMETOOLONG, "%.40s...: the path is too long", path_out);
		*path_out = '\0';
	}
	return ret;
}

const char *jp_path_base(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}
