// SPDX-License-Identifier: GPL-2.0-only
#include "harness/base/digest.h"

#include <string.h>

static uint64_t mix_word(uint64_t digest, uint64_t value)
{
	digest = (digest ^ value) * UINT64_C(0x9e3779b97f4a7c15);
	return digest ^ digest >> 29;
}

/* Mixes four words at a time, in four independent numbers: most digested bytes are stack dumps. */
static uint64_t mix_words(uint64_t digest, const char *bytes, size_t size)
{
	uint64_t lanes[4] = {digest, 1, 2, 3}, words[4];

	for (size_t offset = 0; offset < size; offset += sizeof(words)) {
		memcpy(words, bytes + offset, sizeof(words));
		for (int i = 0; i < 4; i++)
			lanes[i] = mix_word(lanes[i], words[i]);
	}
	digest = lanes[0];
	for (int i = 1; i < 4; i++)
		digest = mix_word(digest, lanes[i]);
	return digest;
}

uint64_t jp_digest_bytes(uint64_t digest, const void *bytes, size_t size)
{
	uint64_t word = 0;
	size_t mixed = size / 32 * 32;

	if (mixed)
		digest = mix_words(digest, bytes, mixed);
	for (; mixed + sizeof(word) <= size; mixed += sizeof(word)) {
		memcpy(&word, (const char *)bytes + mixed, sizeof(word));
		digest = mix_word(digest, word);
	}
	word = 0;
	if (size > mixed)
		memcpy(&word, (const char *)bytes + mixed, size - mixed);
	return mix_word(mix_word(digest, word), size);
}
