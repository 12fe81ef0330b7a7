// SPDX-License-Identifier: GPL-2.0-only
#include "harness/base/bytes.h"

#include <stdlib.h>
#include <string.h>

static void grow_bytes(struct jp_bytes *out, size_t capacity)
{
	unsigned char *grown = out->failed ? NULL : realloc(out->bytes, capacity);

	if (!grown) {
		out->failed = true;
		return;
	}
	out->bytes = grown;
	out->capacity = capacity;
}

void jp_bytes_reserve(struct jp_bytes *out, size_t size)
{
	if (out->capacity - out->size < size)
		grow_bytes(out, out->size + size);
}

void jp_bytes_add(struct jp_bytes *out, const void *from, size_t size)
{
	if (out->capacity - out->size < size)
		grow_bytes(out, (out->size + size) * 2);
	if (!size || out->failed)
		return;
	memcpy(out->bytes + out->size, from, size);
	out->size += size;
}

void jp_bytes_add8(struct jp_bytes *out, uint8_t value)
{
	jp_bytes_add(out, &value, sizeof(value));
}

void jp_bytes_add16(struct jp_bytes *out, uint16_t value)
{
	jp_bytes_add(out, &value, sizeof(value));
}

void jp_bytes_add32(struct jp_bytes *out, uint32_t value)
{
	jp_bytes_add(out, &value, sizeof(value));
}

void jp_bytes_add64(struct jp_bytes *out, uint64_t value)
{
	jp_bytes_add(out, &value, sizeof(value));
}

void jp_bytes_add_uleb(struct jp_bytes *out, uint64_t value)
{
	do {
		uint8_t low = value & 0x7f;

		value >>= 7;
		jp_bytes_add8(out, value ? low | 0x80 : low);
	} while (value);
}

void jp_bytes_add_sleb(struct jp_bytes *out, int64_t value)
{
	for (;;) {
		uint8_t low = value & 0x7f;

		value >>= 7;
		if (value == (low & 0x40 ? -1 : 0)) {
			jp_bytes_add8(out, low);
			return;
		}
		jp_bytes_add8(out, low | 0x80);
	}
}

void jp_bytes_set32(struct jp_bytes *out, size_t offset, uint32_t value)
{
	if (!out->failed)
		memcpy(out->bytes + offset, &value, sizeof(value));
}

void jp_bytes_free(struct jp_bytes *bytes)
{
	free(bytes->bytes);
	*bytes = (struct jp_bytes){0};
}
