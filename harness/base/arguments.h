/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* A growing command line in the form that exec takes; starts as all zero. */
struct jp_arguments {
	char **list; /* words; from the first added word on NULL-terminated */
	size_t count, capacity;
	bool failed; /* memory ran out, so @list lacks words */
};

void jp_arguments_add(struct jp_arguments *arguments, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* Adds copies of all words in the NULL-terminated @list, which may be NULL. */
void jp_arguments_add_all(struct jp_arguments *arguments, char *const *list);
void jp_arguments_free(struct jp_arguments *arguments);

#define jp_cleanup_arguments __attribute__((cleanup(jp_arguments_free)))
