// SPDX-License-Identifier: GPL-2.0-only
#include "harness/base/word_set.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int compare(const char *word, const char *text, size_t length)
{
	int order = strncmp(word, text, length);

	return order ? order : word[length] != '\0';
}

int jp_word_set_add(struct jp_word_set *set, const char *text, size_t length)
{
	size_t low = 0, high = set->count;
	char *copy;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		int order = compare(set->words[middle], text, length);

		if (!order)
			return 0;
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	if (set->count == set->capacity) {
		size_t capacity = set->capacity ? 2 * set->capacity : 64;
		char **grown = reallocarray(set->words, capacity, sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		set->words = grown;
		set->capacity = capacity;
	}
	copy = strndup(text, length);
	if (!copy)
		return -ENOMEM;
	memmove(set->words + low + 1, set->words + low, (set->count - low) * sizeof(*set->words));
	set->words[low] = copy;
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
