// SPDX-License-Identifier: GPL-2.0-only
/* Excuses: exceptions that are expected because of the workload, options and other values in a
 * case's line, so that any case can be judged without expectations written for it. */
#include "harness/outcome/excuse.h"

#include <fnmatch.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "harness/base/excuse.h"
#include "harness/base/order.h"
#include "harness/base/registry.h"
#include "harness/model/causes/causes.h"

/* Capacity of the table of excuses as `allow` lines: one for each metric and cause. */
enum { MOST = 512 };

static bool is_word_in(const char *pattern, char *const *words)
{
	for (; words && *words; words++)
		if (fnmatch(pattern, *words, 0) == 0)
			return true;
	return false;
}

static bool has_value(const char *pattern, const char *key, const char *value)
{
	const size_t length = strlen(key);

	return value && strncmp(pattern, key, length) == 0 &&
	       fnmatch(pattern + length, value, 0) == 0;
}

/* A case, and HOW the processes in question publish. */
struct publishing {
	const struct jp_case *cas;
	const char *publish;
};

static bool has_word(const char *pattern, const void *context)
{
	const struct publishing *publishing = context;
	const struct jp_case *cas = publishing->cas;

	if (*pattern == '!')
		return !has_word(pattern + 1, context);
	return is_word_in(pattern, cas->workload_argv) || is_word_in(pattern, cas->capture_argv) ||
	       is_word_in(pattern, cas->inject_with) ||
	       has_value(pattern, "publish=", publishing->publish) ||
	       has_value(pattern, "inject=", cas->inject) ||
	       has_value(pattern, "at=", cas->step.command);
}

static bool is_metric(const char *pattern, const void *context)
{
	const struct jp_exception *exception = context;

	return fnmatch(pattern, exception->metric, 0) == 0;
}

static bool is_cause(const char *name, const void *context)
{
	const struct jp_exception *exception = context;

	return strcmp(name, "*") == 0 || jp_cause_names(exception->metric, name, exception->cause);
}

/* Returns for how many words of @list holds(word, @context) is true. Adds the number of all words
 * to *@nr_words. */
static unsigned count_words(const char *list,
			    bool (*matches)(const char *word, const void *context),
			    const void *context, unsigned *nr_words)
{
	char words[400], *tail = words, *word;
	unsigned count = 0;

	snprintf(words, sizeof(words), "%s", list);
	for (; (word = strsep(&tail, " ")); ++*nr_words)
		count += matches(word, context);
	return count;
}

static bool is_excuse_for(const struct jp_excuse *excuse, const struct publishing *publishing,
			  const struct jp_exception *exception)
{
	unsigned nr_words = 0, ignored = 0;

	return count_words(excuse->metrics, is_metric, exception, &ignored) &&
	       count_words(excuse->causes, is_cause, exception, &ignored) &&
	       (!excuse->condition ||
		count_words(excuse->condition, has_word, publishing, &nr_words) == nr_words);
}

/* Returns the number that the bound @bound states: a share "A/B" of all that the exception's metric
 * judged, or a part of @exception. INFINITY: @bound states no number. */
static double find_number(const char *bound, const struct jp_findings *findings,
			  const struct jp_exception *exception)
{
	const struct jp_metric *metric = jp_findings_find_metric(findings, exception->metric);
	unsigned int part, divisor;

	if (strcmp(bound, "killed") == 0)
		return (double)exception->in_killed;
	if (strcmp(bound, "inherited") == 0)
		return (double)exception->inherited;
	if (strcmp(bound, "forked") == 0)
		return (double)(exception->in_later + exception->inherited);
	if (strcmp(bound, "replaced") == 0)
		return (double)exception->replaced;
	if (strcmp(bound, "shared") == 0)
		return (double)exception->shared;
	if (strcmp(bound, "predicted") == 0)
		return (double)exception->nr_predicted;
	if (strcmp(bound, "other-tables") == 0)
		return (double)exception->nr_other_tables;
	if (sscanf(bound, "%u/%u", &part, &divisor) != 2)
		return INFINITY;
	return metric ? floor((double)metric->n * part / divisor) : 0;
}

/* Returns an `allow` line without a bound that permits @exception for @reason, or NULL if the table
 * is full. */
static struct jp_expectation *make_allowance(const char *reason,
					     const struct jp_exception *exception)
{
	static struct jp_expectation allowances[MOST];
	struct jp_expectation *expectation = allowances;

	while (expectation < allowances + MOST && expectation->reason &&
	       (expectation->reason != reason ||
		strcmp(expectation->metric, exception->metric) != 0 ||
		strcmp(expectation->allow, exception->cause) != 0))
		expectation++;
	if (expectation == allowances + MOST)
		return NULL;
	*expectation = (struct jp_expectation){.min = -INFINITY, .max = INFINITY, .reason = reason};
	snprintf(expectation->metric, sizeof(expectation->metric), "%s", exception->metric);
	snprintf(expectation->allow, sizeof(expectation->allow), "%s", exception->cause);
	return expectation;
}

/* Returns an `allow` line with the bound of @excuse, or NULL if the table is full. */
static const struct jp_expectation *make_bounded_allowance(const struct jp_excuse *excuse,
							   const struct jp_findings *findings,
							   const struct jp_exception *exception)
{
	struct jp_expectation *expectation = make_allowance(excuse->reason, exception);
	const char *bound = excuse->limit;

	if (!expectation || !bound)
		return expectation;
	expectation->max = find_number(bound, findings, exception);
	if (isinf(expectation->max))
		snprintf(expectation->limit, sizeof(expectation->limit), "%s", bound);
	return expectation;
}

/* Returns how many exceptions @excuse permits. INFINITY: any number, or only a later comparison
 * shows it. */
static double find_bound(const struct jp_excuse *excuse, const struct jp_findings *findings,
			 const struct jp_exception *exception)
{
	const struct jp_metric *metric =
		excuse->limit ? jp_findings_find_metric(findings, excuse->limit) : NULL;

	if (metric)
		return (double)metric->k;
	return excuse->limit ? find_number(excuse->limit, findings, exception) : INFINITY;
}

/* The excuses that allow an exception: a single unbounded excuse, or all bounded excuses. */
struct excuses {
	const struct jp_excuse *list[8];
	size_t count;
};

static struct excuses find_excuses(const struct publishing *publishing,
				   const struct jp_findings *findings,
				   const struct jp_exception *exception)
{
	const struct jp_excuse *excuse = NULL;
	struct excuses found = {0};

	while ((excuse = jp_registry_next(JP_EXCUSE, excuse))) {
		if (!is_excuse_for(excuse, publishing, exception) ||
		    find_bound(excuse, findings, exception) == 0)
			continue;
		if (!excuse->limit)
			return (struct excuses){{excuse}, 1};
		if (found.count < sizeof(found.list) / sizeof(*found.list))
			found.list[found.count++] = excuse;
	}
	return found;
}

/* Returns how many exceptions @excuses permit among @part, which are those of some processes: the
 * sum of the bounds. */
static double count_excused_exceptions(const struct excuses *excuses,
				       const struct jp_findings *findings,
				       const struct jp_exception *exception, uint64_t part)
{
	double sum = 0;

	for (size_t i = 0; i < excuses->count; i++) {
		if (!excuses->list[i]->limit)
			return (double)part;
		sum += find_bound(excuses->list[i], findings, exception);
	}
	return fmin(sum, (double)part);
}

/* Returns an `allow` line. Its limit is that of @first for the launched image, plus that of
 * @later_excuses for later images, plus the larger of both for code that was inherited, or loaded
 * into the parent's address space, whose publisher continues. */
static const struct jp_expectation *allow_parts(const struct excuses *first,
						const struct excuses *later_excuses,
						const struct jp_findings *findings,
						const struct jp_exception *exception)
{
	struct jp_expectation *expectation =
		make_allowance((first->list[0] ?: later_excuses->list[0])->reason, exception);
	const uint64_t shared = jp_min(exception->shared, exception->in_later);
	const uint64_t either = exception->in_first + exception->in_later + exception->inherited
					? exception->inherited + shared
					: exception->count;

	if (expectation && memcmp(first, later_excuses, sizeof(*first)) == 0)
		expectation->max =
			count_excused_exceptions(first, findings, exception, exception->count);
	else if (expectation)
		expectation->max =
			count_excused_exceptions(first, findings, exception, exception->in_first) +
			count_excused_exceptions(later_excuses, findings, exception,
						 exception->in_later - shared) +
			fmax(count_excused_exceptions(first, findings, exception, either),
			     count_excused_exceptions(later_excuses, findings, exception, either));
	return expectation;
}

const struct jp_expectation *jp_excuse_find(const struct jp_case *cas,
					    const struct jp_findings *findings,
					    const struct jp_exception *exception)
{
	const struct publishing publishing[] = {{cas, cas->publish},
						{cas, jp_case_publish_children(cas)}};
	struct excuses first, later_excuses;

	/* For `judge --truth`, the options of the workload are unknown. */
	if (cas->control || !jp_registry_find(JP_WORKLOAD, cas->workload_argv[0]))
		return NULL;
	first = find_excuses(&publishing[0], findings, exception);
	later_excuses = find_excuses(&publishing[1], findings, exception);
	if (!first.count && !later_excuses.count)
		return NULL;
	if (first.count == 1 && later_excuses.count == 1 && first.list[0] == later_excuses.list[0])
		return make_bounded_allowance(first.list[0], findings, exception);
	return allow_parts(&first, &later_excuses, findings, exception);
}
