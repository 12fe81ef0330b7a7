/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stddef.h>

#include "harness/case/case.h"
#include "harness/judge/findings.h"
#include "harness/outcome/outcome.h"

/*
 * Judges one expectation that is a range (not `allow`). Returns PASS, FAIL or ERROR, with a
 * sentence in @reason: metric, figures, range, reason. A range of counts applies to k, exactly. A
 * range in percent applies to the rate: PASS if its whole interval lies inside, FAIL if all of it
 * lies outside, else ERROR (too little evidence); "=P%" is exact. ERROR if @metric is NULL, or a
 * plain count with a percentage.
 */
enum jp_outcome jp_expect(const struct jp_expectation *expectation, const struct jp_metric *metric,
			  char *reason, size_t size);
/* Returns the `allow` line of @cas that permits @exception, or NULL. @out_of_scope: from
 * jp_expect_scopes(). */
const struct jp_expectation *jp_expect_find_allowance(const struct jp_case *cas,
						      uint64_t out_of_scope,
						      const struct jp_exception *exception);
/* Returns the `allow` line of the result's case that permits @exception; else, as such a line, the
 * registered excuse (harness/outcome/excuse.h) that permits it; else NULL. */
const struct jp_expectation *jp_expect_find_permission(const struct jp_result *result,
						       const struct jp_exception *exception);
/* Returns the expectation of the result's case that states a range for @metric, or NULL. */
const struct jp_expectation *jp_expect_find_range(const struct jp_result *result,
						  const char *metric);
/* Compares the number of exceptions with the bound of the line @allow. Returns PASS, or FAIL or
 * ERROR with a sentence in @reason. A bound in percent applies to the exceptions' share of the
 * metric's n, as in jp_expect(). */
enum jp_outcome jp_expect_compare_with_bound(const struct jp_expectation *allow,
					     const struct jp_findings *findings, char *reason,
					     size_t size);
/* Stores in @text the bound of @allow, as a case's file spells it: "<=3", "predicted", or "any".
 * Returns @text. */
const char *jp_expect_bound(const struct jp_expectation *allow, char *text, size_t size);
/* Returns which expectations of @cas do not apply to the tools in @environment (text of env.json,
 * or NULL): bit i for number i. */
uint64_t jp_expect_scopes(const struct jp_case *cas, const char *environment);
/* Stores in @text the figure of @metric: "0.4 % (9 of 2000, 95 % interval 0.2 to 0.9 %)" for a
 * rate, "17" for a count. Returns @text. */
const char *jp_expect_format_metric(const struct jp_metric *metric, char *text, size_t size);
/* Stores the figure of @metric to print beside the range of @expectation: "9 of 2000" for a range
 * of counts, else like jp_expect_format_metric(). Returns @text. */
const char *jp_expect_format_beside_range(const struct jp_expectation *expectation,
					  const struct jp_metric *metric, char *text, size_t size);
/* Stores in @text the range of @expectation, as a case's file spells it: "<=0.5%", "=0", "0..3".
 * Returns @text. */
const char *jp_expect_range(const struct jp_expectation *expectation, char *text, size_t size);
