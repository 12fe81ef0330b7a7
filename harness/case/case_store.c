// SPDX-License-Identifier: GPL-2.0-only
#include "harness/case/case_store.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "harness/base/array.h"

struct jp_case_piece {
	struct jp_case_piece *next;
	_Alignas(16) char bytes[];
};

struct jp_case_store *jp_case_store_new(void)
{
	return calloc(1, sizeof(struct jp_case_store));
}

struct jp_case_store *jp_case_store_get(struct jp_cases *cases)
{
	return (struct jp_case_store *)cases;
}

void *jp_case_store_alloc(struct jp_case_store *store, size_t size)
{
	struct jp_case_piece *piece = calloc(1, sizeof(*piece) + size);

	if (!piece)
		return NULL;
	piece->next = store->pieces;
	store->pieces = piece;
	return piece->bytes;
}

char *jp_case_store_print(struct jp_case_store *store, const char *fmt, ...)
{
	va_list ap;
	char *text;
	int length;

	va_start(ap, fmt);
	length = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	text = length < 0 ? NULL : jp_case_store_alloc(store, (size_t)length + 1);
	if (!text)
		return NULL;
	va_start(ap, fmt);
	vsnprintf(text, (size_t)length + 1, fmt, ap);
	va_end(ap);
	return text;
}

struct jp_case *jp_case_store_case(struct jp_case_store *store)
{
	return jp_array_push(&store->cases.cases, &store->cases.nr_cases, &store->cases_capacity);
}

struct jp_table *jp_case_store_table(struct jp_case_store *store)
{
	return jp_array_push(&store->cases.tables, &store->cases.nr_tables,
			     &store->tables_capacity);
}

int jp_case_store_row(struct jp_table *table, const char *label, const struct jp_table_cell *cells)
{
	return jp_array_append(&table->rows, &table->nr_rows, &table->rows_capacity,
			       (struct jp_table_row){.label = label, .cells = cells});
}

void jp_cases_free(struct jp_cases *cases)
{
	struct jp_case_store *store = jp_case_store_get(cases);
	struct jp_case_piece *next;

	if (!cases)
		return;
	for (size_t i = 0; i < cases->nr_tables; i++)
		free(cases->tables[i].rows);
	free(cases->cases);
	free(cases->tables);
	for (struct jp_case_piece *piece = store->pieces; piece; piece = next) {
		next = piece->next;
		free(piece);
	}
	free(store);
}
