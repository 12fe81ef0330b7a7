/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdint.h>
#include <string.h>

/* Returns the number at @bytes, which need not be aligned. */
static inline uint32_t jp_load32(const void *bytes)
{
	uint32_t value;

	memcpy(&value, bytes, sizeof(value));
	return value;
}

static inline uint64_t jp_load64(const void *bytes)
{
	uint64_t value;

	memcpy(&value, bytes, sizeof(value));
	return value;
}
