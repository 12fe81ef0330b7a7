// SPDX-License-Identifier: GPL-2.0-only
#include "harness/judge/books.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/array.h"

struct jp_book *jp_books_open(struct jp_books *books, const char *name)
{
	struct jp_book *book = jp_array_push(&books->books, &books->count, &books->capacity);

	if (book)
		snprintf(book->name, sizeof(book->name), "%s", name);
	return book;
}

int jp_book_count(struct jp_book *book, const char *name, uint64_t count)
{
	struct jp_book_class *class = NULL;

	if (!count)
		return 0;
	for (size_t i = 0; i < book->nr_classes && !class; i++)
		if (strcmp(book->classes[i].name, name) == 0)
			class = &book->classes[i];
	if (!class) {
		class = jp_array_push(&book->classes, &book->nr_classes, &book->capacity);
		if (!class)
			return -ENOMEM;
		snprintf(class->name, sizeof(class->name), "%s", name);
	}
	class->count += count;
	return 0;
}

static const struct jp_book *find_book(const struct jp_books *books, const char *name)
{
	for (size_t i = 0; i < books->count; i++)
		if (strcmp(books->books[i].name, name) == 0)
			return &books->books[i];
	return NULL;
}

uint64_t jp_book_sum(const struct jp_book *book)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < book->nr_classes; i++)
		sum += book->classes[i].count;
	return sum;
}

uint64_t jp_book_total(const struct jp_books *books, const struct jp_book *book)
{
	const struct jp_book *whole;

	if (!book->of)
		return book->total;
	whole = find_book(books, book->of);
	for (size_t i = 0; whole && i < whole->nr_classes; i++)
		if (strcmp(whole->classes[i].name, book->part) == 0)
			return whole->classes[i].count;
	return whole ? 0 : UINT64_MAX;
}

int jp_books_append(struct jp_books *books, const struct jp_books *more)
{
	for (size_t i = 0; i < more->count; i++) {
		const struct jp_book *from = &more->books[i];
		struct jp_book *book = (struct jp_book *)find_book(books, from->name);

		if (!book)
			book = jp_books_open(books, from->name);
		if (!book)
			return -ENOMEM;
		book->of = from->of;
		book->part = from->part;
		book->total += from->total;
		for (size_t class = 0; class < from->nr_classes; class ++)
			if (jp_book_count(book, from->classes[class].name,
					  from->classes[class].count))
				return -ENOMEM;
	}
	return 0;
}

void jp_books_free(struct jp_books *books)
{
	for (size_t i = 0; i < books->count; i++)
		free(books->books[i].classes);
	free(books->books);
	*books = (struct jp_books){0};
}
