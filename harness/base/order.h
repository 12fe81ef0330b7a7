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
