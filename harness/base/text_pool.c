// SPDX-License-Identifier: GPL-2.0-only
#include "harness/base/text_pool.h"

#include <stdlib.h>
#include <string.h>

static uint64_t add_word(uint64_t hash, const unsigned char *bytes, size_t size)
{
	uint64_t word = 0;

	memcpy(&word, bytes, size);
	hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
	return hash ^ hash >> 29;
}

static uint64_t hash_bytes(const unsigned char *bytes, size_t size)
{
	uint64_t hash = size;

	for (; size >= 8; bytes += 8, size -= 8)
		hash = add_word(hash, bytes, 8);
	return size ? add_word(hash, bytes, size) : hash;
}

struct jp_text *jp_text_keep(struct jp_text_pool *pool, const void *bytes, size_t size)
{
	struct jp_text **head, *text;

	head = jp_map_at(&pool->by_hash, hash_bytes(bytes, size), sizeof(struct jp_text *));
	if (!head)
		return NULL;
	for (text = *head; text; text = text->next_same_hash)
		if (text->size == size && memcmp(text->bytes, bytes, size) == 0)
			return text;
	text = malloc(sizeof(*text) + size + 1);
	if (!text)
		return NULL;
	*text = (struct jp_text){.next_same_hash = *head, .number = pool->count++, .size = size};
	memcpy(text->bytes, bytes, size);
	text->bytes[size] = '\0';
	*head = text;
	if (pool->last)
		pool->last->next = text;
	else
		pool->first = text;
	pool->last = text;
	return text;
}

void jp_text_pool_free(struct jp_text_pool *pool)
{
	for (struct jp_text *text = pool->first, *next; text; text = next) {
		next = text->next;
		free(text);
	}
	jp_map_free(&pool->by_hash);
	*pool = (struct jp_text_pool){0};
}
