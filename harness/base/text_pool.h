/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/base/map.h"

/*
 * Texts, or any bytes, each kept once: equal texts of a pool are one pointer, which stays as long
 * as the pool. So a pool also is a hash table by text: what belongs to one hangs on its `value`, or
 * lies in an array at its `number`, or in a map by its pointer. All zero is an empty one.
 */
struct jp_text {
	struct jp_text *next; /* that came after it; NULL: the last */
	struct jp_text *same; /* the pool's: another one with the same hash */
	void *value;          /* its user's; NULL to start with */
	size_t number;        /* how many came before it */
	size_t size;
	char bytes[]; /* @size of them, and a NUL */
};

struct jp_text_pool {
	struct jp_text *first, *last;
	size_t count;
	struct jp_map by_hash;
};

/* The text of these bytes, added where it is not in @pool; NULL: no memory. */
struct jp_text *jp_text_keep(struct jp_text_pool *pool, const void *bytes, size_t size);
/* Leaves an empty one. Values are freed before, by walking from `first` on. */
void jp_text_pool_free(struct jp_text_pool *pool);
