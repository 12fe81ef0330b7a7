/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* An account counts all things of one kind (samples, frames), each in exactly one class, so that
 * none is dropped silently. The counts of the classes must add up to the number of things. That
 * number is @total, or the count of class @part of the account named @of, which this account
 * divides further. */
struct jp_book {
	char name[64];
	const char *of, *part; /* constants; NULL: use @total instead */
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
/* Adds @count to class @name, and adds the class if the account lacks it. Returns 0 or -ENOMEM. */
int jp_book_count(struct jp_book *book, const char *name, uint64_t count);
/* Returns the sum of the classes' counts. */
uint64_t jp_book_sum(const struct jp_book *book);
/* Returns the number that the classes' counts must add up to, or UINT64_MAX if the account
 * @book->of does not exist. */
uint64_t jp_book_total(const struct jp_books *books, const struct jp_book *book);
/* Adds all accounts of @more and their counts to @books. Returns 0 or -ENOMEM. */
int jp_books_append(struct jp_books *books, const struct jp_books *more);
void jp_books_free(struct jp_books *books);
