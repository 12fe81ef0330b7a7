/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/base/map.h"

/* A set of texts, or of any byte sequences, each stored once: equal texts of a pool have the same
 * pointer, valid as long as the pool. A pool is also a hash table with texts as keys: store a
 * text's data in its @value, in an array at index @number, or in a map by its pointer. All zero is
 * empty. */
struct jp_text {
	struct jp_text *next; /* the text that was added after this text; NULL: none was */
	struct jp_text *next_same_hash; /* used by the pool: the next text with the same hash */
	void *value;                    /* for the user of the pool; NULL at first */
	size_t number;                  /* number of texts that were added before this text */
	size_t size;
	char bytes[]; /* @size bytes, and a NUL */
};

struct jp_text_pool {
	struct jp_text *first, *last;
	size_t count;
	struct jp_map by_hash;
};

/* Returns the text with these @size bytes. Adds it if it is new. Returns NULL if out of memory. */
struct jp_text *jp_text_keep(struct jp_text_pool *pool, const void *bytes, size_t size);
/* Frees the texts; the pool is then empty. Does not free their values: free them first, in a loop
 * from @first along @next. */
void jp_text_pool_free(struct jp_text_pool *pool);
