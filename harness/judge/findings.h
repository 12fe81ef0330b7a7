/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/format/truth/format.h"

/* Requirements that a metric must meet in every case, whatever value the case expects. */
struct jp_role {
	/* Bound on the metric's value. If it is violated, the case does not have enough
	 * evidence. */
	enum jp_bound {
		JP_UNBOUND,
		JP_SOME_N,  /* @n must be at least 1 */
		JP_LEAST_N, /* @n must be at least the number of samples that the case needs */
		JP_LEAST_K, /* @k must be at least the number of samples that the case needs */
		JP_ALL_N,   /* @k must be @n */
		JP_LEAST_DISTINCT, /* @k must be at least the number of distinct places that the
				      case needs */
		JP_MOST_UNJUDGED,  /* if the case does not expect a value: @k must be a small share
				      of @n */
		JP_MOST_LOST, /* if the case does not expect a value: @k must be at most the excused
				 number; if it does, a larger value is an ERROR */
	} bound;
	const char *serves;      /* only cases that expect this metric need the bound; NULL: all */
	const char *lead, *tail; /* texts before and after the metric's value in messages; @lead
				    NULL: "NAME is " */
	const char *column;      /* column of the scoreboard that shows k of n; NULL: none */
	const char *faults;      /* column of the scoreboard to which each exception of the metric
				    that nothing allows adds a fault; NULL: none */
	bool is_elsewhere; /* @k counts samples outside of the code where the truth expects them */
	bool foreign;      /* these are of other processes, which a capture of all CPUs contains */
	/* Requirements of the second judgement of a control, which also has the left-out events: */
	bool fault;  /* @k must be 0 */
	bool steady; /* @k must not decrease */
};

/* Role of a rate that every case has: if its @n is 0, nothing was judged. */
extern const struct jp_role jp_counts_some;

/* A rate: @k of @n things, with its 95 % Wilson interval. Or a plain count @k, if !@rate; then @n
 * is 0. */
struct jp_metric {
	char name[48];
	bool rate;
	uint64_t k, n;
	double lo, hi;              /* rate: limits of the interval; plain count: lo == hi == k */
	const struct jp_role *role; /* NULL: none */
	uint64_t excused;           /* JP_MOST_LOST: part of @k that is excused */
};

/* Describes what a metric counts, for output. Registered as JP_METRIC_TEXT. @name has no METHOD at
 * its end, and N in place of a number. */
struct jp_metric_text {
	const char *name, *text;
};

struct jp_metric jp_metric_rate(const char *name, uint64_t k, uint64_t n);
struct jp_metric jp_metric_count(const char *name, uint64_t k);

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

/* Verdict on the stack that a method found for one sample. */
enum jp_verdict {
	JP_UNJUDGED,
	JP_UNMAPPED,
	JP_WRONG,
	JP_EXTRA,
	JP_SINGLE,
	JP_SHORT,
	JP_HOLE,
	JP_GAP,
	JP_EXACT,
	JP_VERDICTS
};
const char *jp_verdict_text(enum jp_verdict verdict);

/* One kind of failure: how often it occurred, and a description of its first occurrence. @kind and
 * @cause are constants of the validator, or the name of a control. */
struct jp_exception {
	const char *kind;      /* name of the metric, without the method */
	enum jp_method method; /* JP_METHODS: no method */
	const char *cause;
	uint64_t count;
	/* How many of @count concern code of the image that was launched, of later images (a forked
	 * process, or any after an exec), and code that a process inherited by a fork. All 0:
	 * unknown. */
	uint64_t in_first, in_later, inherited;
	uint64_t in_killed; /* how many of @count concern images that a signal ended */
	/* How many of @count concern code that a process loaded itself before a later image of its
	 * pid, which writes the files of this pid anew; and code that a process loaded into an
	 * address space which it shares with its parent. */
	uint64_t replaced, shared;
	uint64_t nr_predicted; /* how many of @count are stacks that the truth predicts */
	/* How many of @count are other stacks, in which the jitdumps have a function of another
	 * name at the place of a true one. */
	uint64_t nr_other_tables;
	char metric[48];   /* "broken.dump": @kind and @method, for readers */
	char example[400]; /* description of the first occurrence: time, process, ip,
			    function+offset, what was missing where */
};

/* Whether another program (a reader, such as perf) shows the same samples and names as this
 * project's own reader for one file. */
struct jp_reader {
	char name[64], file[32]; /* such as "perf 7.3.4" and "injected.data" */
	uint64_t samples;        /* number of samples in the file */
	enum jp_reader_answer {
		JP_READER_AGREES,
		JP_READER_DIFFERS,
		JP_READER_OLDER, /* the reader is too old for the file's format: nothing was
				    compared */
		JP_READER_ANSWERS
	} answer;
};
const char *jp_reader_answer_text(enum jp_reader_answer answer);

struct jp_findings {
	struct jp_metric *metrics;
	size_t nr_metrics, metrics_capacity;
	struct jp_exception *exceptions; /* one for each (metric, cause) */
	size_t nr_exceptions, exceptions_capacity;
	uint64_t verdicts[JP_METHODS][JP_VERDICTS];
	uint64_t in_kernel[JP_METHODS][JP_VERDICTS]; /* the part of @verdicts about samples taken in
							the kernel */
	uint64_t nr_predicted[JP_METHODS]; /* number of samples whose walked stack is as the truth
					   predicts for the method */
	bool judged[JP_METHODS];
	struct jp_accounts
		accounts; /* accounts, in which each sample and frame has exactly one class */
	struct jp_skipped {
		const char *validator, *lack; /* constants: the validator that did not judge, and
						 what the capture lacks for it */
	} * skipped;
	size_t nr_skipped, skipped_capacity;
	struct jp_reader *readers;
	size_t nr_readers, readers_capacity;
	char error[1024];  /* "": none; otherwise the case is an ERROR for this reason */
	bool contradicted; /* @error is a contradiction with what the runner observed: no figure
			      counts */
	bool failed;       /* memory ran out, and metrics are missing */
};

void jp_findings_free(struct jp_findings *findings);
/* Adds @metric. If memory runs out, sets @findings->failed; jp_findings_append() then returns
 * -ENOMEM. */
void jp_findings_add(struct jp_findings *findings, struct jp_metric metric);
/* Adds the metric that jp_metric_rate() returns. */
void jp_findings_add_rate(struct jp_findings *findings, const char *name, uint64_t k, uint64_t n);
/* Adds the metric that jp_metric_count() returns. */
void jp_findings_add_count(struct jp_findings *findings, const char *name, uint64_t k);
/* Appends all findings of @more, which must not contain an exception (metric and cause) of
 * @findings. Returns 0, or -ENOMEM, also if memory ran out earlier for @more. */
int jp_findings_append(struct jp_findings *findings, const struct jp_findings *more);
const struct jp_metric *jp_findings_find_metric(const struct jp_findings *findings,
						const char *name);
/* Adds a rate or a count with the constant requirements @role. */
void jp_findings_add_role_rate(struct jp_findings *findings, const struct jp_role *role,
			       const char *name, uint64_t k, uint64_t n);
void jp_findings_add_role_count(struct jp_findings *findings, const struct jp_role *role,
				const char *name, uint64_t k);
/* Counts one failure of @kind and @method with @cause, and returns its entry. If the entry's count
 * is 1, the caller must describe this first occurrence in it. Returns NULL if out of memory. */
struct jp_exception *jp_findings_count(struct jp_findings *findings, const char *kind,
				       enum jp_method method, const char *cause);
/* Records that @validator does not judge this case, because the capture declares that it lacks
 * @lack. Returns 0 or -ENOMEM. */
int jp_findings_note_skipped_validator(struct jp_findings *findings, const char *validator,
				       const char *lack);
/* Adds the result of another program, @reader. Returns 0 or -ENOMEM. */
int jp_findings_add_reader(struct jp_findings *findings, const struct jp_reader *reader);
/* Counts one failure of @kind with @cause, without a method. Stores the text @first (as for printf)
 * if it is the first failure of this kind. Returns 0 or -ENOMEM. */
int jp_findings_count_failure(struct jp_findings *findings, const char *kind, const char *cause,
			      const char *first, ...) __attribute__((format(printf, 4, 5)));
