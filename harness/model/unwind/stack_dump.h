/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* The stack dump of a sample, the only memory of the process in a capture. */
struct jp_stack_dump {
	const unsigned char *bytes;
	uint64_t sp, size;
	uint64_t missed; /* last address that was read and is not in the dump */
	bool narrow;     /* words have 4 bytes, not 8 */
};

/* Reads the word at @addr from the dump @context; a jp_stack_load. Returns false, and stores @addr
 * as missed, if the word is not in the dump. */
static inline bool jp_stack_dump_load(void *context, uint64_t addr, uint64_t *value)
{
	struct jp_stack_dump *dump = context;
	const uint64_t offset = addr - dump->sp, word = dump->narrow ? 4 : 8;
	uint32_t half;

	if (dump->size < word || offset > dump->size - word) {
		dump->missed = addr;
		return false;
	}
	if (dump->narrow) {
		memcpy(&half, dump->bytes + offset, sizeof(half));
		*value = half;
	} else {
		memcpy(value, dump->bytes + offset, sizeof(*value));
	}
	return true;
}
