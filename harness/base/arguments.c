// SPDX-License-Identifier: GPL-2.0-only
#include "harness/base/arguments.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/array.h"
#include "harness/base/search.h"

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

int jp_word_set_add(struct jp_word_set *set, const char *text, size_t length)
{
	char *copy;
	size_t index;

	jp_search(index, set->count, strncmp(set->words[index], text, length) < 0);
	if (index < set->count && strncmp(set->words[index], text, length) == 0 &&
	    !set->words[index][length])
		return 0;
	if (!jp_array_reserve(&set->words, &set->capacity, set->count + 1) ||
	    !(copy = strndup(text, length)))
		return -ENOMEM;
	memmove(set->words + index + 1, set->words + index,
		(set->count - index) * sizeof(*set->words));
	set->words[index] = copy;
	set->count++;
	return 0;
}

void jp_word_set_free(struct jp_word_set *set)
{
	for (size_t i = 0; i < set->count; i++)
		free(set->words[i]);
	free(set->words);
	*set = (struct jp_word_set){0};
}
