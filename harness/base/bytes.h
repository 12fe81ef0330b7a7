/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A growing buffer in which a file is composed. If memory runs out, @failed is set and later
 * additions are lost: check it once before using the bytes. Starts as all zero. */
struct jp_bytes {
	unsigned char *bytes;
	size_t size, capacity;
	bool failed;
};

/* Reserves space for @size more bytes, so that adding them moves nothing. */
void jp_bytes_reserve(struct jp_bytes *out, size_t size);
void jp_bytes_add(struct jp_bytes *out, const void *from, size_t size);
void jp_bytes_add8(struct jp_bytes *out, uint8_t value);
void jp_bytes_add16(struct jp_bytes *out, uint16_t value);
void jp_bytes_add32(struct jp_bytes *out, uint32_t value);
void jp_bytes_add64(struct jp_bytes *out, uint64_t value);
/* Appends @value as unsigned LEB128 (variable length, DWARF). */
void jp_bytes_add_uleb(struct jp_bytes *out, uint64_t value);
/* Appends @value as signed LEB128. */
void jp_bytes_add_sleb(struct jp_bytes *out, int64_t value);
/* Overwrites the four bytes at offset @offset with @value. */
void jp_bytes_set32(struct jp_bytes *out, size_t offset, uint32_t value);
void jp_bytes_free(struct jp_bytes *bytes);
