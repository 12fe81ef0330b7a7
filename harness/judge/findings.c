// SPDX-License-Identifier: GPL-2.0-only
#include "harness/judge/findings.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/array.h"
#include "harness/base/wilson.h"
#include "harness/model/causes/causes.h"
#include "harness/model/unwind/methods.h"

const struct jp_role jp_counts_some = {.bound = JP_SOME_N};

struct jp_metric jp_metric_rate(const char *name, uint64_t k, uint64_t n)
{
	struct jp_metric metric = {.rate = true, .k = k, .n = n};

	snprintf(metric.name, sizeof(metric.name), "%s", name);
	jp_wilson(k, n, &metric.lo, &metric.hi);
	return metric;
}

struct jp_metric jp_metric_count(const char *name, uint64_t k)
{
	struct jp_metric metric = {.k = k, .lo = (double)k, .hi = (double)k};

	snprintf(metric.name, sizeof(metric.name), "%s", name);
	return metric;
}

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

const char *jp_verdict_text(enum jp_verdict verdict)
{
	static const char *const text[JP_VERDICTS] = {
		[JP_UNJUDGED] = "unjudged", [JP_UNMAPPED] = "unmapped", [JP_WRONG] = "wrong",
		[JP_EXTRA] = "extra",       [JP_SINGLE] = "single",     [JP_SHORT] = "short",
		[JP_HOLE] = "hole",         [JP_GAP] = "gap",           [JP_EXACT] = "exact",
	};

	return (unsigned)verdict < JP_VERDICTS ? text[verdict] : "?";
}

void jp_findings_free(struct jp_findings *findings)
{
	free(findings->metrics);
	free(findings->exceptions);
	free(findings->skipped);
	free(findings->readers);
	jp_accounts_free(&findings->accounts);
	memset(findings, 0, sizeof(*findings));
}

void jp_findings_add(struct jp_findings *findings, struct jp_metric metric)
{
	struct jp_metric *added = jp_array_push(&findings->metrics, &findings->nr_metrics,
						&findings->metrics_capacity);

	if (added)
		*added = metric;
	else
		findings->failed = true;
}

void jp_findings_add_rate(struct jp_findings *findings, const char *name, uint64_t k, uint64_t n)
{
	jp_findings_add_role_rate(findings, NULL, name, k, n);
}

void jp_findings_add_count(struct jp_findings *findings, const char *name, uint64_t k)
{
	jp_findings_add_role_count(findings, NULL, name, k);
}

void jp_findings_add_role_rate(struct jp_findings *findings, const struct jp_role *role,
			       const char *name, uint64_t k, uint64_t n)
{
	struct jp_metric metric = jp_metric_rate(name, k, n);

	metric.role = role;
	jp_findings_add(findings, metric);
}

void jp_findings_add_role_count(struct jp_findings *findings, const struct jp_role *role,
				const char *name, uint64_t k)
{
	struct jp_metric metric = jp_metric_count(name, k);

	metric.role = role;
	jp_findings_add(findings, metric);
}

int jp_findings_append(struct jp_findings *findings, const struct jp_findings *more)
{
	size_t metrics = findings->nr_metrics + more->nr_metrics;
	size_t exceptions = findings->nr_exceptions + more->nr_exceptions;

	if (more->failed ||
	    !jp_array_reserve(&findings->metrics, &findings->metrics_capacity, metrics) ||
	    !jp_array_reserve(&findings->exceptions, &findings->exceptions_capacity, exceptions))
		return -ENOMEM;
	for (size_t i = 0; i < more->nr_metrics; i++)
		findings->metrics[findings->nr_metrics++] = more->metrics[i];
	for (size_t i = 0; i < more->nr_exceptions; i++)
		findings->exceptions[findings->nr_exceptions++] = more->exceptions[i];
	if (jp_accounts_append(&findings->accounts, &more->accounts))
		return -ENOMEM;
	for (size_t i = 0; i < more->nr_skipped; i++)
		if (jp_findings_note_skipped_validator(findings, more->skipped[i].validator,
						       more->skipped[i].lack))
			return -ENOMEM;
	for (size_t i = 0; i < more->nr_readers; i++)
		if (jp_findings_add_reader(findings, &more->readers[i]))
			return -ENOMEM;
	for (enum jp_method method = 0; method < JP_METHODS; method++) {
		findings->judged[method] |= more->judged[method];
		findings->nr_predicted[method] += more->nr_predicted[method];
		for (int verdict = 0; verdict < JP_VERDICTS; verdict++) {
			findings->verdicts[method][verdict] += more->verdicts[method][verdict];
			findings->in_kernel[method][verdict] += more->in_kernel[method][verdict];
		}
	}
	return 0;
}

int jp_findings_note_skipped_validator(struct jp_findings *findings, const char *validator,
				       const char *lack)
{
	return jp_array_append(&findings->skipped, &findings->nr_skipped,
			       &findings->skipped_capacity, (struct jp_skipped){validator, lack});
}

const char *jp_reader_answer_text(enum jp_reader_answer answer)
{
	static const char *const texts[JP_READER_ANSWERS] = {"agrees", "differs", "older"};

	return texts[answer];
}

int jp_findings_add_reader(struct jp_findings *findings, const struct jp_reader *reader)
{
	return jp_array_append(&findings->readers, &findings->nr_readers,
			       &findings->readers_capacity, *reader);
}

const struct jp_metric *jp_findings_find_metric(const struct jp_findings *findings,
						const char *name)
{
	for (size_t i = 0; i < findings->nr_metrics; i++)
		if (strcmp(findings->metrics[i].name, name) == 0)
			return &findings->metrics[i];
	return NULL;
}

struct jp_exception *jp_findings_count(struct jp_findings *findings, const char *kind,
				       enum jp_method method, const char *cause)
{
	struct jp_exception *exception;

	for (size_t i = 0; i < findings->nr_exceptions; i++) {
		exception = &findings->exceptions[i];
		if (exception->method == method && strcmp(exception->kind, kind) == 0 &&
		    strcmp(exception->cause, cause) == 0) {
			exception->count++;
			return exception;
		}
	}
	exception = jp_array_push(&findings->exceptions, &findings->nr_exceptions,
				  &findings->exceptions_capacity);
	if (!exception)
		return NULL;
	if (jp_cause_is_of_metric(kind) && !jp_cause_word(kind, cause) && !*findings->error)
		snprintf(findings->error, sizeof(findings->error),
			 "%s: harness/model/causes has no cause %s", kind, cause);
	exception->kind = kind;
	exception->method = method;
	exception->cause = cause;
	exception->count = 1;
	snprintf(exception->metric, sizeof(exception->metric), "%s%s%s", kind,
		 method == JP_METHODS ? "" : ".",
		 method == JP_METHODS ? "" : jp_method_name(method));
	return exception;
}

int jp_findings_count_failure(struct jp_findings *findings, const char *kind, const char *cause,
			      const char *first, ...)
{
	struct jp_exception *exception = jp_findings_count(findings, kind, JP_METHODS, cause);
	va_list ap;

	if (!exception)
		return -ENOMEM;
	if (exception->count > 1)
		return 0;
	va_start(ap, first);
	vsnprintf(exception->example, sizeof(exception->example), first, ap);
	va_end(ap);
	return 0;
}
