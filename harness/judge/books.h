/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * A book: all things of one kind, each in exactly one class. The classes must add up to what there
 * is: @total, or the class @part of the book @of, which this one tells apart.
 */
struct jp_book {
	char name[32];
	const char *of, *part; /* constants; NULL: @total is known */
	uint64_t total;
	struct jp_book_class {
		char name[32];
		uint64_t count;
	} * classes; /* none is empty */
	size_t nr_classes, capacity;
};

struct jp_books {
	struct jp_book *books;
	size_t count, capacity;
};

/* A new book, without classes; NULL: no memory. Valid until the next. */
struct jp_book *jp_books_open(struct jp_books *books, const char *name);
/* @count more in @name, which may be new. 0 or -ENOMEM. */
int jp_book_count(struct jp_book *book, const char *name, uint64_t count);
/* What its classes add up to. */
uint64_t jp_book_sum(const struct jp_book *book);
/* What they must add up to; UINT64_MAX: the book that would tell is missing. */
uint64_t jp_book_total(const struct jp_books *books, const struct jp_book *book);
/* Adds all of @more. 0 or -ENOMEM. */
int jp_books_append(struct jp_books *books, const struct jp_books *more);
void jp_books_free(struct jp_books *books);
