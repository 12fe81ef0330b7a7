/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/base/map.h"

/* Texts, or any bytes, each stored once: equal texts of a pool are one pointer, valid as long as
 * the pool. So a pool is also a hash table by text: data of a text hangs on its `value`, or lies in
 * an array at its `number`, or in a map by its pointer. All zero is empty. */
struct jp_text {
	struct jp_text *next; /* the text added after it; NULL: the last */
	struct jp_text *same; /* used by the pool: another text with the same hash */
	void *value;          /* for the caller; NULL at first */
	size_t number;        /* number of texts added before it */
	size_t size;
	char bytes[]; /* @size bytes, and a NUL */
};

struct jp_text_pool {
	struct jp_text *first, *last;
	size_t count;
	struct jp_map by_hash;
};

/* Returns the text with these bytes, added if it is new; NULL: out of memory. */
struct jp_text *jp_text_keep(struct jp_text_pool *pool, const void *bytes, size_t size);
/* Frees all; the pool is then empty. Free values before, by walking from `first` on. */
void jp_text_pool_free(struct jp_text_pool *pool);
