/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* An account counts all things of one kind (samples, frames), each in exactly one class, so that
 * none is dropped silently. The counts of the classes must add up to the number of things. That
 * number is @total, or the count of class @part of the account named @of, which this account
 * divides further. */
struct jp_account {
	char name[64];
	const char *of, *part; /* constants; NULL: use @total instead */
	uint64_t total;
	struct jp_account_class {
		char name[32];
		uint64_t count;
	} * classes; /* no class has an empty name */
	size_t nr_classes, capacity;
};

struct jp_accounts {
	struct jp_account *accounts;
	size_t count, capacity;
};

/* Adds an account without classes. Returns it, valid until the next call, or NULL if out of
 * memory. */
struct jp_account *jp_accounts_open(struct jp_accounts *accounts, const char *name);
/* Adds @count to class @name, and adds the class if the account lacks it. Returns 0 or -ENOMEM. */
int jp_account_count(struct jp_account *account, const char *name, uint64_t count);
/* Returns the sum of the classes' counts. */
uint64_t jp_account_sum(const struct jp_account *account);
/* Returns the number that the classes' counts must add up to, or UINT64_MAX if the account
 * @account->of does not exist. */
uint64_t jp_account_total(const struct jp_accounts *accounts, const struct jp_account *account);
/* Adds all accounts of @more and their counts to @accounts. Returns 0 or -ENOMEM. */
int jp_accounts_append(struct jp_accounts *accounts, const struct jp_accounts *more);
void jp_accounts_free(struct jp_accounts *accounts);
