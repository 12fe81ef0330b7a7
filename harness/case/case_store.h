/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/case/case.h"

/* Owns the memory to which the strings and lists of a struct jp_cases point. */
struct jp_case_store {
	/* Must be first: jp_case_store_get() casts a struct jp_cases to its store. */
	struct jp_cases cases;
	size_t cases_capacity, tables_capacity;
	struct jp_case_piece *pieces;
};

struct jp_case_store *jp_case_store_new(void);
struct jp_case_store *jp_case_store_get(struct jp_cases *cases);
/* Returns zeroed memory that lives as long as the store. This and the functions below return NULL
 * if out of memory. */
void *jp_case_store_alloc(struct jp_case_store *store, size_t size);
char *jp_case_store_print(struct jp_case_store *store, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* Returns a new, zeroed case; the pointer is valid until the next call. */
struct jp_case *jp_case_store_case(struct jp_case_store *store);
struct jp_table *jp_case_store_table(struct jp_case_store *store);
/* Adds a row to @table. Returns 0 or -ENOMEM. */
int jp_case_store_row(struct jp_table *table, const char *label, const struct jp_table_cell *cells);
