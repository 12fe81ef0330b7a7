// SPDX-License-Identifier: GPL-2.0-only
#include "harness/facts/fact.h"

#include <stdlib.h>
#include <string.h>

#include "harness/base/array.h"

static int by_name(const void *a, const void *b)
{
	const struct jp_fact *const *one = a, *const *other = b;

	return strcmp((*one)->name, (*other)->name);
}

const struct jp_fact **jp_facts_all(size_t *count)
{
	const struct jp_fact **all = NULL;
	const struct jp_fact_family *family;
	size_t capacity = 0;

	*count = 0;
	if (!jp_array_reserve(&all, &capacity, 1))
		return NULL;
	for (size_t i = 0; (family = jp_registry_at(JP_FACT, i)); i++) {
		if (!jp_array_reserve(&all, &capacity, *count + family->count)) {
			free(all);
			return NULL;
		}
		for (size_t f = 0; f < family->count; f++)
			all[(*count)++] = &family->facts[f];
	}
	qsort(all, *count, sizeof(const struct jp_fact *), by_name);
	return all;
}
