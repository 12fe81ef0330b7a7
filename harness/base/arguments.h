/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* A growing list of words, in the form that exec takes; starts as all zero. */
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

/* Distinct texts, sorted by bytes. Starts as all zero. */
struct jp_word_set {
	char **words;
	size_t count, capacity;
};

/* Adds a copy of @length bytes of @text, if new. Returns 0 or -ENOMEM. */
int jp_word_set_add(struct jp_word_set *set, const char *text, size_t length);
void jp_word_set_free(struct jp_word_set *set);
