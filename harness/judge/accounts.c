// SPDX-License-Identifier: GPL-2.0-only
#include "harness/judge/accounts.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/array.h"

struct jp_account *jp_accounts_open(struct jp_accounts *accounts, const char *name)
{
	struct jp_account *account =
		jp_array_push(&accounts->accounts, &accounts->count, &accounts->capacity);

	if (account)
		snprintf(account->name, sizeof(account->name), "%s", name);
	return account;
}

int jp_account_count(struct jp_account *account, const char *name, uint64_t count)
{
	struct jp_account_class *class = NULL;

	if (!count)
		return 0;
	for (size_t i = 0; i < account->nr_classes && !class; i++)
		if (strcmp(account->classes[i].name, name) == 0)
			class = &account->classes[i];
	if (!class) {
		class = jp_array_push(&account->classes, &account->nr_classes, &account->capacity);
		if (!class)
			return -ENOMEM;
		snprintf(class->name, sizeof(class->name), "%s", name);
	}
	class->count += count;
	return 0;
}

static const struct jp_account *find_account(const struct jp_accounts *accounts, const char *name)
{
	for (size_t i = 0; i < accounts->count; i++)
		if (strcmp(accounts->accounts[i].name, name) == 0)
			return &accounts->accounts[i];
	return NULL;
}

uint64_t jp_account_sum(const struct jp_account *account)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < account->nr_classes; i++)
		sum += account->classes[i].count;
	return sum;
}

uint64_t jp_account_total(const struct jp_accounts *accounts, const struct jp_account *account)
{
	const struct jp_account *whole;

	if (!account->of)
		return account->total;
	whole = find_account(accounts, account->of);
	for (size_t i = 0; whole && i < whole->nr_classes; i++)
		if (strcmp(whole->classes[i].name, account->part) == 0)
			return whole->classes[i].count;
	return whole ? 0 : UINT64_MAX;
}

int jp_accounts_append(struct jp_accounts *accounts, const struct jp_accounts *more)
{
	for (size_t i = 0; i < more->count; i++) {
		const struct jp_account *from = &more->accounts[i];
		struct jp_account *account =
			(struct jp_account *)find_account(accounts, from->name);

		if (!account)
			account = jp_accounts_open(accounts, from->name);
		if (!account)
			return -ENOMEM;
		account->of = from->of;
		account->part = from->part;
		account->total += from->total;
		for (size_t class = 0; class < from->nr_classes; class ++)
			if (jp_account_count(account, from->classes[class].name,
					     from->classes[class].count))
				return -ENOMEM;
	}
	return 0;
}

void jp_accounts_free(struct jp_accounts *accounts)
{
	for (size_t i = 0; i < accounts->count; i++)
		free(accounts->accounts[i].classes);
	free(accounts->accounts);
	*accounts = (struct jp_accounts){0};
}
