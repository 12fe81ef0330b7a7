/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/*
 * Arrays that grow: "T *items; size_t count, capacity;", all zero to start with, freed by free().
 * @array is &items. The capacity doubles, so adding n elements moves O(n). Elements move when it
 * grows: keep indices, not pointers. Without memory, or where the size in bytes overflows, nothing
 * changes.
 */

/* A new element at the end, all zero (T *); NULL: no memory. */
#define jp_array_push(array, count, capacity)                                                      \
	((__typeof__(*(array)))jp_array_add((array), (count), (capacity), sizeof(**(array))))

/* Whether there is now a capacity of @needed elements at least; new ones are not initialized. */
#define jp_array_reserve(array, capacity, needed)                                                  \
	jp_array_grow((array), (capacity), (needed), sizeof(**(array)))

/* What the macros call: @size bytes an element. */
void *jp_array_add(void *array, size_t *count, size_t *capacity, size_t size);
bool jp_array_grow(void *array, size_t *capacity, size_t needed, size_t size);
