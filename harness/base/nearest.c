// SPDX-License-Identifier: GPL-2.0-only
#include "harness/base/nearest.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "harness/base/order.h"

enum { LONGEST = sizeof(((struct jp_nearest *)NULL)->name) - 1 };

/* Returns how many letters to insert, delete, replace or swap with the next one turn @word into
 * @name: the optimal string alignment distance. SIZE_MAX: a text is too long. */
static size_t measure_distance(const char *word, const char *name)
{
	const size_t word_length = strlen(word), name_length = strlen(name);
	/* [i][j]: distance between the first i letters of @word and the first j letters of @name */
	uint8_t distance[LONGEST + 1][LONGEST + 1];

	if (word_length > LONGEST || name_length > LONGEST)
		return SIZE_MAX;
	for (size_t i = 0; i <= word_length; i++) {
		for (size_t j = 0; j <= name_length; j++) {
			uint64_t min = i + j;

			if (i && j) {
				min = jp_min(distance[i - 1][j], distance[i][j - 1]) + 1;
				min = jp_min(min,
					     distance[i - 1][j - 1] + (word[i - 1] != name[j - 1]));
			}
			if (i > 1 && j > 1 && word[i - 1] == name[j - 2] &&
			    word[i - 2] == name[j - 1])
				min = jp_min(min, distance[i - 2][j - 2] + 1);
			distance[i][j] = (uint8_t)min;
		}
	}
	return distance[word_length][name_length];
}

void jp_nearest_compare(struct jp_nearest *nearest, const char *name)
{
	const size_t distance = measure_distance(nearest->word, name);

	/* Accept one mistake in three letters: with more it would be another word. */
	if (distance > strlen(nearest->word) / 3 ||
	    (*nearest->name && distance >= nearest->distance))
		return;
	snprintf(nearest->name, sizeof(nearest->name), "%s", name);
	nearest->distance = distance;
}

const char *jp_nearest_hint(const struct jp_nearest *nearest, char *text, size_t size)
{
	snprintf(text, size, *nearest->name ? "; did you mean '%s'?" : "%s", nearest->name);
	return text;
}
