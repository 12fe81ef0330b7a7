/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdint.h>
#include <stdlib.h>

/* Compares two values: negative, 0 or positive. To compare by several keys:
 * jp_compare(a->pid, b->pid) ?: jp_compare(a->addr, b->addr). */
#define jp_compare(a, b) (((a) > (b)) - ((a) < (b)))

/* Defines the function @name, which compares *a and *b, two elements of @type, by an expression as
 * above. For qsort() and jp_sort(). */
#define JP_ORDER(name, type, ...)                                                                  \
	static int name(const void *left, const void *right)                                       \
	{                                                                                          \
		__typeof__(type const *) a = left, b = right;                                      \
		return __VA_ARGS__;                                                                \
	}

/* Sorts an array of @count elements. It may be NULL without elements, unlike qsort()'s. */
#define jp_sort(array, count, order)                                                               \
	do {                                                                                       \
		if (count)                                                                         \
			qsort((array), (count), sizeof(*(array)), (order));                        \
	} while (0)

/* Compares uint64_t values. */
static inline int jp_compare_by_value(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

	return jp_compare(a, b);
}
