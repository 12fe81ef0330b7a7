/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stddef.h>

/* Distinct texts, sorted by bytes. Starts as all zero. */
struct jp_word_set {
	char **words;
	size_t count, capacity;
};

/* Adds a copy of @length bytes of @text, if new. Returns 0 or -ENOMEM. */
int jp_word_set_add(struct jp_word_set *set, const char *text, size_t length);
void jp_word_set_free(struct jp_word_set *set);
