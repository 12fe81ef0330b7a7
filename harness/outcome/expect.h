/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stddef.h>

#include "harness/case/case.h"
#include "harness/judge/findings.h"
#include "harness/outcome/outcome.h"

/*
 * Judges one expectation that is a range (no `allow`): PASS, FAIL or ERROR, and one sentence in
 * @why: metric, figures, range, reason. A range of counts is about k and exact. A range in percent
 * is about the rate: PASS when the whole interval lies inside, FAIL when all of it lies outside,
 * else ERROR (too little evidence); "=P%" is exact. @metric NULL, or a percentage of a plain count:
 * ERROR.
 */
enum jp_outcome jp_expect(const struct jp_expectation *expectation, const struct jp_metric *metric,
			  char *why, size_t size);
/* True when some `allow` line of @cas permits @exception. @out_of_scope: of jp_expect_scopes(). */
bool jp_expect_allows(const struct jp_case *cas, uint64_t out_of_scope,
		      const struct jp_exception *exception);
/*
 * Whether there are as many exceptions of @findings as the line @allow bears, and as few: PASS, or
 * FAIL or ERROR and one sentence in @why. A bound in percent is about their share of the metric's
 * n, by the rules of jp_expect().
 */
enum jp_outcome jp_expect_bounded(const struct jp_expectation *allow,
				  const struct jp_findings *findings, char *why, size_t size);
/* "<=3", "predicted": the bound as its file has it, "any" where it has none; returns @text. */
const char *jp_expect_bound(const struct jp_expectation *allow, char *text, size_t size);
/* Which expectations of @cas do not hold for the tools that @environment (the text of env.json, or
 * NULL) records: bit i for the i-th. */
uint64_t jp_expect_scopes(const struct jp_case *cas, const char *environment);
/* "0.4 % (9 of 2000, 95 % interval 0.2 to 0.9 %)" or "17"; returns @text. */
const char *jp_expect_figure(const struct jp_metric *metric, char *text, size_t size);
/* The same beside the range of @expectation: where that is of the count, "9 of 2000". */
const char *jp_expect_seen(const struct jp_expectation *expectation, const struct jp_metric *metric,
			   char *text, size_t size);
/* "<=0.5%", "=0", "0..3": the range as its file has it; returns @text. */
const char *jp_expect_range(const struct jp_expectation *expectation, char *text, size_t size);
