/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdint.h>

/* Returns the return address that is stored as @word, without its signature. @signature: mask of
 * the bits that may hold one; 0: the machine signs none. Bit 55 of a signed address is set for
 * kernel addresses, whose upper bits are all ones (ptrauth_clear_pac() of arch/arm64). */
static inline uint64_t jp_return_address(uint64_t word, uint64_t signature)
{
	const uint64_t upper = -(signature & -signature);

	return word >> 55 & 1 ? word | upper : word & ~signature;
}
