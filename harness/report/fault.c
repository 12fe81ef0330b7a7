// SPDX-License-Identifier: GPL-2.0-only
#include "harness/report/fault.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "harness/model/causes/causes.h"
#include "harness/outcome/expect.h"
#include "harness/report/figures.h"

/* Returns the first exception that nothing allows, or NULL. */
static const struct jp_exception *find_fault(const struct jp_result *result)
{
	for (size_t i = 0; i < result->findings.nr_exceptions; i++) {
		const struct jp_exception *exception = &result->findings.exceptions[i];

		if (!jp_expect_find_permission(result, exception))
			return exception;
	}
	return NULL;
}

/* Returns the first expectation whose range does not contain its metric, or NULL. */
static const struct jp_expectation *find_missed_expectation(const struct jp_result *result)
{
	char reason[512];

	for (size_t i = 0; result->outcome == JP_FAIL && i < result->cas->nr_expectations; i++) {
		const struct jp_expectation *expectation = &result->cas->expectations[i];

		if (!expectation->allow[0] && !(result->out_of_scope >> i & 1) &&
		    jp_expect(expectation,
			      jp_findings_find_metric(&result->findings, expectation->metric),
			      reason, sizeof(reason)) == JP_FAIL)
			return expectation;
	}
	return NULL;
}

/* Stores in @text a metric that is outside of its expected range, and the cause of its first
 * exception, else the reason for the range. */
static void describe_missed(const struct jp_result *result, const struct jp_expectation *missed,
			    char *text, size_t size)
{
	const struct jp_findings *findings = &result->findings;
	const struct jp_metric *metric = jp_findings_find_metric(findings, missed->metric);
	const char *metric_text = jp_figures_text(missed->metric), *reason = missed->reason;
	char range[80], total_text[40] = "";

	for (size_t i = findings->nr_exceptions; i-- > 0;) {
		const struct jp_exception *exception = &findings->exceptions[i];
		const struct jp_cause *cause =
			jp_cause_of_word(exception->metric, exception->cause);

		if (cause && strcmp(exception->metric, missed->metric) == 0)
			reason = cause->text;
	}
	if (metric->rate)
		snprintf(total_text, sizeof(total_text), " of %" PRIu64, metric->n);
	snprintf(text, size, "%" PRIu64 "%s %s%s%s%s, expected %s%s%s", metric->k, total_text,
		 metric_text, *metric_text ? " (" : "", missed->metric, *metric_text ? ")" : "",
		 jp_expect_range(missed, range, sizeof(range)), *reason ? ": " : "", reason);
}

const char *jp_fault_describe(const struct jp_result *result, char *text, size_t size)
{
	const struct jp_exception *fault =
		result->outcome == JP_FAIL && !result->cas->control ? find_fault(result) : NULL;
	const struct jp_cause *cause = fault ? jp_cause_of_word(fault->metric, fault->cause) : NULL;
	const struct jp_expectation *missed = find_missed_expectation(result);

	if (result->outcome == JP_CRASH)
		snprintf(text, size, "%s killed a profiler", result->crashed);
	else if (cause)
		snprintf(text, size, "%" PRIu64 " %s: %s", fault->count, fault->metric,
			 cause->text);
	else if (missed && jp_findings_find_metric(&result->findings, missed->metric))
		describe_missed(result, missed, text, size);
	else
		snprintf(text, size, "%.*s", (int)strcspn(result->reasons, "\n"), result->reasons);
	return text;
}
