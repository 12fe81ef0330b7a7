// SPDX-License-Identifier: GPL-2.0-only
#include "harness/inject/inject_code.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void jp_inject_report(const struct jp_inject_read *reading, const char *fmt, ...)
{
	char text[1200];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (reading->report)
		reading->report(reading->context, text);
}

void jp_inject_dumps_free(struct jp_inject_dumps *dumps)
{
	while (dumps->nr_markers)
		free(dumps->markers[--dumps->nr_markers].path);
	while (dumps->nr_files)
		free(dumps->files[--dumps->nr_files].path);
	jp_text_pool_free(&dumps->paths);
	free(dumps->markers);
	free(dumps->files);
	free(dumps->codes);
	*dumps = (struct jp_inject_dumps){0};
}
