/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>

/* Growing arrays. An array is three variables, "T *items; size_t count, capacity;", all zero at
 * first; free it by free(items). @array is &items, @count is &count, @capacity is &capacity. The
 * capacity doubles, so adding n elements costs O(n). Elements move when the array grows: keep
 * indices, not pointers. If memory runs out, or the size in bytes overflows, nothing changes. */

/* Returns a new, zeroed element at the end (T *), or NULL if out of memory. */
#define jp_array_push(array, count, capacity)                                                      \
	((__typeof__(*(array)))jp_array_add((array), (count), (capacity), sizeof(**(array))))

/* Adds the value "..." at the end. Returns 0 or -ENOMEM. */
#define jp_array_append(array, count, capacity, ...)                                               \
	({                                                                                         \
		__typeof__(*(array)) new_ = jp_array_push((array), (count), (capacity));           \
		new_ ? (void)(*new_ = __VA_ARGS__) : (void)0;                                      \
		new_ ? 0 : -ENOMEM;                                                                \
	})

/* Ensures a capacity of at least @needed elements; new ones are not initialized. Returns false if
 * out of memory. */
#define jp_array_reserve(array, capacity, needed)                                                  \
	jp_array_grow((array), (capacity), (needed), sizeof(**(array)))

/* Implements the macros above for elements of @size bytes. */
void *jp_array_add(void *array, size_t *count, size_t *capacity, size_t size);
bool jp_array_grow(void *array, size_t *capacity, size_t needed_capacity, size_t size);
