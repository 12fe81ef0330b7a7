// SPDX-License-Identifier: GPL-2.0-only
#include "harness/base/bytes.h"

#include <stdlib.h>
#include <string.h>

static void grow_bytes(struct jp_bytes *to, size_t capacity)
{
	unsigned char *grown = to->failed ? NULL : realloc(to->bytes, capacity);

	if (!grown) {
		to->failed = true;
		return;
	}
	to->bytes = grown;
	to->capacity = capacity;
}

void jp_bytes_reserve(struct jp_bytes *to, size_t size)
{
	if (to->capacity - to->size < size)
		grow_bytes(to, to->size + size);
}

void jp_bytes_add(struct jp_bytes *to, const void *from, size_t size)
{
	if (to->capacity - to->size < size)
		grow_bytes(to, (to->size + size) * 2);
	if (!size || to->failed)
		return;
	memcpy(to->bytes + to->size, from, size);
	to->size += size;
}

void jp_bytes_add8(struct jp_bytes *to, uint8_t value)
{
	jp_bytes_add(to, &value, sizeof(value));
}

void jp_bytes_add16(struct jp_bytes *to, uint16_t value)
{
	jp_bytes_add(to, &value, sizeof(value));
}

void jp_bytes_add32(struct jp_bytes *to, uint32_t value)
{
	jp_bytes_add(to, &value, sizeof(value));
}

void jp_bytes_add64(struct jp_bytes *to, uint64_t value)
{
	jp_bytes_add(to, &value, sizeof(value));
}

void jp_bytes_add_uleb(struct jp_bytes *to, uint64_t value)
{
	do {
		uint8_t low = value & 0x7f;

		value >>= 7;
		jp_bytes_add8(to, value ? low | 0x80 : low);
	} while (value);
}

void jp_bytes_add_sleb(struct jp_bytes *to, int64_t value)
{
	for (;;) {
		uint8_t low = value & 0x7f;

		value >>= 7;
		if (value == (low & 0x40 ? -1 : 0)) {
			jp_bytes_add8(to, low);
			return;
		}
		jp_bytes_add8(to, low | 0x80);
	}
}

void jp_bytes_set32(struct jp_bytes *to, size_t offset, uint32_t value)
{
	if (!to->failed)
		memcpy(to->bytes + offset, &value, sizeof(value));
}

void jp_bytes_free(struct jp_bytes *bytes)
{
	free(bytes->bytes);
	*bytes = (struct jp_bytes){0};
}
