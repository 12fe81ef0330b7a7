/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stddef.h>

/* Distinct texts in the order of their bytes. All zero to start with. */
struct jp_word_set {
	char **words;
	size_t count, capacity;
};

/* Copies @length bytes of @text, unless they are in it already. 0 or -ENOMEM. */
int jp_word_set_add(struct jp_word_set *set, const char *text, size_t length);
void jp_word_set_free(struct jp_word_set *set);
