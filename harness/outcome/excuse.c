// SPDX-License-Identifier: GPL-2.0-only
/* Excuses: exceptions that are expected because of the workload, options and other values in a
 * case's line, so that any case can be judged without expectations written for it. */
#include "harness/outcome/excuse.h"

#include <fnmatch.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "harness/base/excuse.h"
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

static bool has_word(const char *pattern, const void *context)
{
	const struct jp_case *cas = context;

	if (*pattern == '!')
		return !has_word(pattern + 1, context);
	return is_word_in(pattern, cas->workload_argv) || is_word_in(pattern, cas->capture_argv) ||
	       is_word_in(pattern, cas->inject_with) ||
	       has_value(pattern, "publish=", cas->publish) ||
	       has_value(pattern, "inject=", cas->inject);
}

static bool is_metric(const char *pattern, const void *context)
{
	const struct jp_exception *exception = context;

	return fnmatch(pattern, exception->metric, 0) == 0;
}

static bool is_cause(const char *asked, const void *context)
{
	const struct jp_exception *exception = context;

	return strcmp(asked, "*") == 0 ||
	       jp_cause_names(exception->metric, asked, exception->cause);
}

/* Returns for how many words of @list holds(word, @context) is true. Adds the number of all words
 * to
 * *@all. */
static unsigned count_words(const char *list, bool (*holds)(const char *word, const void *context),
			    const void *context, unsigned *all)
{
	char words[400], *rest = words, *word;
	unsigned count = 0;

	snprintf(words, sizeof(words), "%s", list);
	for (; (word = strsep(&rest, " ")); ++*all)
		count += holds(word, context);
	return count;
}

static bool is_excuse_for(const struct jp_excuse *excuse, const struct jp_case *cas,
			  const struct jp_exception *exception)
{
	unsigned all = 0, ignored = 0;

	return count_words(excuse->metrics, is_metric, exception, &ignored) &&
	       count_words(excuse->causes, is_cause, exception, &ignored) &&
	       (!excuse->when || count_words(excuse->when, has_word, cas, &all) == all);
}

/* Sets the bound of the allowance @one as the excuse's @most states it: "predicted", a share of the
 * metric's n such as "1/10", or NULL for no bound. */
static void set_bound(struct jp_expectation *one, const char *most,
		      const struct jp_findings *findings)
{
	const struct jp_metric *metric = jp_findings_find_metric(findings, one->metric);
	unsigned int part, whole;

	one->predicted = most && strcmp(most, "predicted") == 0;
	if (most && sscanf(most, "%u/%u", &part, &whole) == 2)
		one->max = metric ? floor((double)metric->n * part / whole) : 0;
	else if (most && !one->predicted)
		snprintf(one->most, sizeof(one->most), "%s", most);
}

/* Returns an `allow` line that permits @exception as @excuse does, or NULL if the table is full. */
static const struct jp_expectation *make_allowance(const struct jp_excuse *excuse,
						   const struct jp_findings *findings,
						   const struct jp_exception *exception)
{
	static struct jp_expectation made[MOST];
	struct jp_expectation *one = made;

	while (one < made + MOST && one->reason &&
	       (one->reason != excuse->reason || strcmp(one->metric, exception->metric) != 0 ||
		strcmp(one->allow, exception->cause) != 0))
		one++;
	if (one == made + MOST)
		return NULL;
	*one = (struct jp_expectation){.min = -INFINITY, .max = INFINITY, .reason = excuse->reason};
	snprintf(one->metric, sizeof(one->metric), "%s", exception->metric);
	snprintf(one->allow, sizeof(one->allow), "%s", exception->cause);
	set_bound(one, excuse->most, findings);
	return one;
}

/* Returns whether the method of @exception walked each sample as the truth predicts, apart from
 * samples with exceptions of causes that @excuse does not name. */
static bool is_predicted(const struct jp_excuse *excuse, const struct jp_findings *findings,
			 const struct jp_exception *exception)
{
	unsigned ignored = 0;
	uint64_t others = 0;
	const char *method = strchr(exception->metric, '.');
	const struct jp_metric *predicted;
	char name[60];

	snprintf(name, sizeof(name), "predicted%s", method ?: "");
	predicted = jp_findings_find_metric(findings, name);
	for (size_t i = 0; i < findings->nr_exceptions; i++) {
		const struct jp_exception *other = &findings->exceptions[i];

		if (other->method == exception->method &&
		    count_words(excuse->metrics, is_metric, other, &ignored) &&
		    !count_words(excuse->causes, is_cause, other, &ignored))
			others += other->count;
	}
	return predicted && predicted->n - predicted->k <= others;
}

const struct jp_expectation *jp_excuse_find(const struct jp_case *cas,
					    const struct jp_findings *findings,
					    const struct jp_exception *exception)
{
	const struct jp_expectation *first = NULL, *allow;
	const struct jp_excuse *excuse = NULL;

	/* The options of a workload whose truth `judge --truth` gathered are unknown. */
	if (cas->control || !jp_registry_find(JP_WORKLOAD, cas->workload_argv[0]))
		return NULL;
	while ((excuse = jp_registry_next(JP_EXCUSE, excuse))) {
		if (!is_excuse_for(excuse, cas, exception))
			continue;
		allow = make_allowance(excuse, findings, exception);
		/* Several excuses may apply: one without a bound permits any number. */
		if (!allow || !excuse->most)
			return allow;
		if (!first && (!allow->predicted || is_predicted(excuse, findings, exception)))
			first = allow;
	}
	return first;
}
