// SPDX-License-Identifier: GPL-2.0-only
#include "harness/outcome/expect.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "harness/model/causes/causes.h"
#include "harness/outcome/excuse.h"

const char *jp_expect_format_metric(const struct jp_metric *metric, char *text, size_t size)
{
	if (!metric->rate)
		snprintf(text, size, "%" PRIu64, metric->k);
	else if (!metric->n)
		snprintf(text, size, "0 of 0");
	else
		snprintf(text, size,
			 "%.2f %% (%" PRIu64 " of %" PRIu64 ", 95 %% interval %.2f to %.2f %%)",
			 100 * (double)metric->k / (double)metric->n, metric->k, metric->n,
			 100 * metric->lo, 100 * metric->hi);
	return text;
}

const char *jp_expect_format_beside_range(const struct jp_expectation *expectation,
					  const struct jp_metric *metric, char *text, size_t size)
{
	bool allows_all = isinf(expectation->min) && isinf(expectation->max);

	if (expectation->percent || allows_all || !metric->rate)
		return jp_expect_format_metric(metric, text, size);
	snprintf(text, size, "%" PRIu64 " of %" PRIu64, metric->k, metric->n);
	return text;
}

const char *jp_expect_range(const struct jp_expectation *expectation, char *text, size_t size)
{
	double scale = expectation->percent ? 100 : 1;
	const char *unit = expectation->percent ? "%" : "";
	double min = expectation->min * scale, max = expectation->max * scale;

	/* Print nine digits, because more would show rounding errors of the division by 100. */
	if (isinf(min) && isinf(max))
		snprintf(text, size, "any");
	else if (min == max)
		snprintf(text, size, "=%.9g%s", min, unit);
	else if (isinf(max))
		snprintf(text, size, ">=%.9g%s", min, unit);
	else if (isinf(min))
		snprintf(text, size, "<=%.9g%s", max, unit);
	else
		snprintf(text, size, "%.9g..%.9g%s", min, max, unit);
	return text;
}

static enum jp_outcome compare_metric(const struct jp_expectation *expectation,
				      const struct jp_metric *metric, const char **note)
{
	double rate;

	if (isinf(expectation->min) && isinf(expectation->max))
		return JP_PASS;
	if (metric->rate && !metric->n) {
		*note = "; nothing was counted";
		return JP_ERROR;
	}
	if (!expectation->percent) {
		double k = (double)metric->k;

		return k >= expectation->min && k <= expectation->max ? JP_PASS : JP_FAIL;
	}
	if (!metric->rate) {
		*note = "; a plain count has no percentage";
		return JP_ERROR;
	}
	rate = (double)metric->k / (double)metric->n;
	if (expectation->min == expectation->max)
		return rate == expectation->min ? JP_PASS : JP_FAIL;
	if (metric->lo >= expectation->min && metric->hi <= expectation->max)
		return JP_PASS;
	if (metric->hi < expectation->min || metric->lo > expectation->max)
		return JP_FAIL;
	*note = "; too little evidence";
	return JP_ERROR;
}

enum jp_outcome jp_expect(const struct jp_expectation *expectation, const struct jp_metric *metric,
			  char *reason, size_t size)
{
	char range[80], figure[160];
	const char *note = "";
	enum jp_outcome outcome;

	jp_expect_range(expectation, range, sizeof(range));
	if (!metric) {
		snprintf(reason, size, "%s: was not measured; expected %s", expectation->metric,
			 range);
		return JP_ERROR;
	}
	outcome = compare_metric(expectation, metric, &note);
	snprintf(reason, size, "%s: %s; expected %s%s%s%s%s", expectation->metric,
		 jp_expect_format_beside_range(expectation, metric, figure, sizeof(figure)), range,
		 expectation->reason[0] ? " (" : "", expectation->reason,
		 expectation->reason[0] ? ")" : "", note);
	return outcome;
}

uint64_t jp_expect_scopes(const struct jp_case *cas, const char *environment)
{
	uint64_t mask = 0;

	for (size_t i = 0; i < cas->nr_expectations; i++)
		if (!jp_scope_holds(&cas->expectations[i].scope, environment))
			mask |= UINT64_C(1) << i;
	return mask;
}

static bool means_exception(const struct jp_expectation *allow,
			    const struct jp_exception *exception)
{
	return strcmp(allow->metric, exception->metric) == 0 &&
	       jp_cause_names(exception->metric, allow->allow, exception->cause);
}

const struct jp_expectation *jp_expect_find_allowance(const struct jp_case *cas,
						      uint64_t out_of_scope,
						      const struct jp_exception *exception)
{
	for (size_t i = 0; i < cas->nr_expectations; i++)
		if (cas->expectations[i].allow[0] && !(out_of_scope >> i & 1) &&
		    means_exception(&cas->expectations[i], exception))
			return &cas->expectations[i];
	return NULL;
}

const struct jp_expectation *jp_expect_find_permission(const struct jp_result *result,
						       const struct jp_exception *exception)
{
	return jp_expect_find_allowance(result->cas, result->out_of_scope, exception)
		       ?: jp_excuse_find(result->cas, &result->findings, exception);
}

const struct jp_expectation *jp_expect_find_range(const struct jp_result *result,
						  const char *metric)
{
	const struct jp_case *cas = result->cas;

	for (size_t i = 0; i < cas->nr_expectations; i++)
		if (!cas->expectations[i].allow[0] && !(result->out_of_scope >> i & 1) &&
		    strcmp(cas->expectations[i].metric, metric) == 0)
			return &cas->expectations[i];
	return NULL;
}

const char *jp_expect_bound(const struct jp_expectation *allow, char *text, size_t size)
{
	if (allow->is_predicted)
		snprintf(text, size, "predicted");
	else if (allow->limit[0])
		snprintf(text, size, "<=%s", allow->limit);
	else
		jp_expect_range(allow, text, size);
	return text;
}

enum jp_outcome jp_expect_compare_with_bound(const struct jp_expectation *allow,
					     const struct jp_findings *findings, char *reason,
					     size_t size)
{
	const struct jp_metric *metrics = jp_findings_find_metric(findings, allow->metric);
	struct jp_metric some = jp_metric_count(allow->metric, 0);
	char range[80], figure[160];
	const char *note = "";
	enum jp_outcome outcome;

	for (size_t i = 0; i < findings->nr_exceptions; i++)
		if (means_exception(allow, &findings->exceptions[i]))
			some.k += findings->exceptions[i].count;
	/* No exceptions exceed no upper bound, even if too little was judged for a share. */
	if (allow->is_predicted || (!some.k && allow->min <= 0))
		return JP_PASS;
	if (allow->limit[0]) {
		const struct jp_metric *metric = jp_findings_find_metric(findings, allow->limit);

		if (metric && some.k <= metric->k)
			return JP_PASS;
		snprintf(reason, size,
			 "%s: %" PRIu64 " with cause %s; allowed at most the %s %s (%s)",
			 allow->metric, some.k, allow->allow,
			 metric ? jp_expect_format_metric(metric, figure, sizeof(figure))
				: "missing",
			 allow->limit, allow->reason);
		return metric ? JP_FAIL : JP_ERROR;
	}
	if (metrics && metrics->rate)
		some = jp_metric_rate(allow->metric, some.k, metrics->n);
	outcome = compare_metric(allow, &some, &note);
	snprintf(reason, size, "%s: %s with cause %s; allowed %s (%s)%s", allow->metric,
		 jp_expect_format_beside_range(allow, &some, figure, sizeof(figure)), allow->allow,
		 jp_expect_range(allow, range, sizeof(range)), allow->reason, note);
	return outcome;
}
