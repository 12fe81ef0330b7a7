/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdint.h>

static inline uint64_t jp_min(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static inline uint64_t jp_max(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* Compares uint64_t values, for qsort(). */
static inline int jp_compare_by_value(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

	return (a > b) - (a < b);
}
