// SPDX-License-Identifier: GPL-2.0-only
#include "harness/base/array.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Most arrays stay short: start with a capacity of one cache line. */
enum { FIRST_BYTES = 64 };

bool jp_array_grow(void *array, size_t *capacity, size_t needed_capacity, size_t size)
{
	size_t new_capacity = *capacity ?: size < FIRST_BYTES ? FIRST_BYTES / size : 1, bytes;
	void *items;

	if (needed_capacity <= *capacity)
		return true;
	while (new_capacity < needed_capacity)
		if (__builtin_mul_overflow(new_capacity, 2, &new_capacity))
			return false;
	if (__builtin_mul_overflow(new_capacity, size, &bytes) || bytes > PTRDIFF_MAX)
		return false;
	memcpy(&items, array, sizeof(items)); /* a pointer of any type */
	items = realloc(items, bytes);
	if (!items)
		return false;
	memcpy(array, &items, sizeof(items));
	*capacity = new_capacity;
	return true;
}

void *jp_array_add(void *array, size_t *count, size_t *capacity, size_t size)
{
	unsigned char *items;

	if (!jp_array_grow(array, capacity, *count + 1, size))
		return NULL;
	memcpy(&items, array, sizeof(items));
	return memset(items + (*count)++ * size, 0, size);
}
