/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdint.h>

/* Returns the size in bytes of the whole 8-byte words that hold @size bytes. */
static inline uint64_t jp_round_up_to_words(uint64_t size)
{
	return (size + 7) & ~UINT64_C(7);
}
