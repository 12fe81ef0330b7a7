/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdint.h>

/* As many bytes as the whole words, of 8 each, have that hold @size bytes. */
static inline uint64_t jp_whole_words(uint64_t size)
{
	return (size + 7) & ~UINT64_C(7);
}
