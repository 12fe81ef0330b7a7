// SPDX-License-Identifier: GPL-2.0-only
#include "harness/base/arguments.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "harness/base/array.h"

void jp_arguments_add(struct jp_arguments *arguments, const char *fmt, ...)
{
	va_list ap;
	char *text;

	va_start(ap, fmt);
	if (vasprintf(&text, fmt, ap) < 0)
		text = NULL;
	va_end(ap);
	if (!text ||
	    !jp_array_reserve(&arguments->list, &arguments->capacity, arguments->count + 2)) {
		arguments->failed = true;
		free(text);
		return;
	}
	arguments->list[arguments->count++] = text;
	arguments->list[arguments->count] = NULL;
}

void jp_arguments_add_all(struct jp_arguments *arguments, char *const *list)
{
	for (; list && *list; list++)
		jp_arguments_add(arguments, "%s", *list);
}

void jp_arguments_free(struct jp_arguments *arguments)
{
	for (size_t i = 0; i < arguments->count; i++)
		free(arguments->list[i]);
	free(arguments->list);
	*arguments = (struct jp_arguments){0};
}
