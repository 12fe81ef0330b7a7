/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/case/case.h"

/* The memory of struct jp_cases: its strings and lists point into it. */
struct jp_case_store {
	struct jp_cases cases; /* first: a struct jp_cases is its store */
	size_t cases_capacity, tables_capacity;
	struct jp_case_piece *pieces;
};

struct jp_case_store *jp_case_store_new(void);
struct jp_case_store *jp_case_store_of(struct jp_cases *cases);
/* Returns zeroed memory that lives as long as the store. NULL: out of memory, here and below. */
void *jp_case_store_alloc(struct jp_case_store *store, size_t size);
char *jp_case_store_print(struct jp_case_store *store, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* Returns a new, zeroed case, valid until the next is added. */
struct jp_case *jp_case_store_case(struct jp_case_store *store);
struct jp_table *jp_case_store_table(struct jp_case_store *store);
/* Adds a row. Returns 0 or -ENOMEM. */
int jp_case_store_row(struct jp_table *table, const char *label, const struct jp_table_cell *cells);
