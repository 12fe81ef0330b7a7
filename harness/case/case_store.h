/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/case/case.h"

/* The memory behind struct jp_cases: everything that its strings and lists point into. */
struct jp_case_store {
	struct jp_cases cases; /* first: a struct jp_cases is its store */
	size_t cases_capacity, tables_capacity;
	struct jp_case_piece *pieces;
};

struct jp_case_store *jp_case_store_new(void);
struct jp_case_store *jp_case_store_of(struct jp_cases *cases);
/* Zeroed memory that lives as long as the store; NULL: out of memory, here and below. */
void *jp_case_store_alloc(struct jp_case_store *store, size_t size);
char *jp_case_store_print(struct jp_case_store *store, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* One more, zeroed. The pointer is good until the next one is added. */
struct jp_case *jp_case_store_case(struct jp_case_store *store);
struct jp_table *jp_case_store_table(struct jp_case_store *store);
/* 0 or -ENOMEM. */
int jp_case_store_row(struct jp_table *table, const char *label, const struct jp_table_cell *cells);
