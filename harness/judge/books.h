/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* An account: all things of one kind, each counted in exactly one class. The classes must add up to
 * the number of things. That number is @total, or the class @part of the account @of, which this
 * account divides. */
struct jp_book {
	char name[64];
	const char *of, *part; /* constants; NULL: @total is known */
	uint64_t total;
	struct jp_book_class {
		char name[32];
		uint64_t count;
	} * classes; /* no class has an empty name */
	size_t nr_classes, capacity;
};

struct jp_books {
	struct jp_book *books;
	size_t count, capacity;
};

/* Adds an account without classes. Returns it, valid until the next call, or NULL if out of
 * memory. */
struct jp_book *jp_books_open(struct jp_books *books, const char *name);
/* Adds @count to class @name, which may be new. Returns 0 or -ENOMEM. */
int jp_book_count(struct jp_book *book, const char *name, uint64_t count);
/* Returns the sum of the classes. */
uint64_t jp_book_sum(const struct jp_book *book);
/* Returns what the classes must add up to; UINT64_MAX: the account @of does not exist. */
uint64_t jp_book_total(const struct jp_books *books, const struct jp_book *book);
/* Adds all counts of @more. Returns 0 or -ENOMEM. */
int jp_books_append(struct jp_books *books, const struct jp_books *more);
void jp_books_free(struct jp_books *books);
