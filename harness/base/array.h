/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Growing arrays: "T *items; size_t count, capacity;", all zero at first, freed by free(). @array
 * is &items. The capacity doubles, so adding n elements moves O(n). Elements move: keep indices,
 * not pointers. If memory is short, or the size in bytes overflows, nothing changes. */

/* Returns a new, zeroed element at the end (T *), or NULL if out of memory. */
#define jp_array_push(array, count, capacity)                                                      \
	((__typeof__(*(array)))jp_array_add((array), (count), (capacity), sizeof(**(array))))

/* Ensures a capacity of at least @needed elements; new ones are not initialized. Returns false if
 * out of memory. */
#define jp_array_reserve(array, capacity, needed)                                                  \
	jp_array_grow((array), (capacity), (needed), sizeof(**(array)))

/* Implements the macros for elements of @size bytes. */
void *jp_array_add(void *array, size_t *count, size_t *capacity, size_t size);
bool jp_array_grow(void *array, size_t *capacity, size_t needed, size_t size);
