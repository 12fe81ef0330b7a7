// SPDX-License-Identifier: GPL-2.0-only
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/outcome/expect.h"
#include "harness/model/unwind/methods.h"
#include "harness/outcome/outcome.h"
#include "harness/base/registry.h"
#include "harness/format/rundir/run_dir.h"
#include "harness/judge/judge.h"

/* A case that says nothing of its unjudged samples may have this many of them, in percent. */
#define MAX_UNJUDGED 2
/* Where the clocks of truth and capture differ by more, brackets prove nothing (DESIGN 4). */
#define MAX_SLACK_NS 100000

/* One more line of why; FAIL outranks ERROR, ERROR outranks PASS. */
__attribute__((format(printf, 3, 4))) static void
note(struct jp_result *result, enum jp_outcome outcome, const char *fmt, ...)
{
	size_t used = strlen(result->why), capacity = sizeof(result->why) - used;
	va_list ap;

	if (outcome == JP_FAIL || (outcome == JP_ERROR && result->outcome != JP_FAIL))
		result->outcome = outcome;
	if (used && capacity > 1) {
		result->why[used++] = '\n';
		result->why[used] = '\0';
		capacity--;
	}
	va_start(ap, fmt);
	vsnprintf(result->why + used, capacity, fmt, ap);
	va_end(ap);
}

/* What makes a run worthless, whatever its figures. */
static void check_evidence(const struct jp_truth *truth, const struct jp_capture_info *info,
			   struct jp_result *result)
{

	if (truth->gaps)
		note(result, JP_ERROR,
		     "the truth has %" PRIu64 " gaps: torn records before whole ones", truth->gaps);
	if (truth->overflow)
		note(result, JP_ERROR, "the truth is full: %" PRIu64 " records were lost",
		     truth->overflow);
	if (info->slack > MAX_SLACK_NS)
		note(result, JP_ERROR,
		     "the clocks of truth and capture differ by %" PRIu64
		     " ns; at most %d are usable",
		     info->slack, MAX_SLACK_NS);
	if (info->lost_sideband)
		note(result, JP_ERROR,
		     "%" PRIu64 " sideband records (mappings, processes, names) were lost",
		     info->lost_sideband);
	if (!info->settled)
		note(result, JP_ERROR,
		     "threads were started faster than they could be listed: what some of them "
		     "mapped was not watched");
}

static bool expects(const struct jp_result *result, const char *metric)
{
	const struct jp_case *cas = result->cas;

	for (size_t i = 0; i < cas->nr_expectations; i++)
		if (!(result->out_of_scope >> i & 1) &&
		    strcmp(cas->expectations[i].metric, metric) == 0)
			return true;
	return false;
}

/* What is not judged cannot fail: enough judged samples are no excuse for many more unjudged. */
static void check_unjudged(struct jp_result *result)
{
	static const char *const names[] = {"unjudged", "names.unjudged"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const struct jp_metric *unjudged = jp_findings_metric(&result->findings, names[i]);
		char figure[160];

		if (!unjudged || expects(result, names[i]) ||
		    (double)unjudged->k * 100 <= (double)unjudged->n * MAX_UNJUDGED)
			continue;
		note(result, JP_ERROR, "too little evidence: %s is %s, at most %d %% are usual",
		     names[i], jp_expect_figure(unjudged, figure, sizeof(figure)), MAX_UNJUDGED);
	}
}

static void check_samples(const struct jp_case *cas, struct jp_result *result)
{
	const struct jp_metric *named = jp_findings_metric(&result->findings, "names.right");
	const struct jp_metric *distinct = jp_findings_metric(&result->findings, "distinct");
	bool any = false;

	if (named && named->n < cas->samples)
		note(result, JP_ERROR,
		     "too little evidence: names were judged of %" PRIu64
		     " samples, the case needs %u",
		     named->n, cas->samples);
	for (enum jp_method method = 0; method < JP_METHODS; method++) {
		const struct jp_metric *judged;
		char name[48];

		snprintf(name, sizeof(name), "judged.%s", jp_method_name(method));
		judged = jp_findings_metric(&result->findings, name);
		if (!result->findings.judged[method])
			continue;
		any = true;
		if (!judged || judged->k < cas->samples)
			note(result, JP_ERROR,
			     "too little evidence: %s is %" PRIu64 ", the case needs %u", name,
			     judged ? judged->k : 0, cas->samples);
	}
	if (!any)
		note(result, JP_ERROR, "nothing was checked: no sample was judged");
	/* A thousand samples of one instruction prove as much as one. */
	if (distinct && distinct->k < cas->distinct)
		note(result, JP_ERROR,
		     "too little evidence: %" PRIu64
		     " distinct (function, offset) pairs were hit, the case needs %u",
		     distinct->k, cas->distinct);
}

static void check_expectations(const struct jp_case *cas, struct jp_result *result)
{
	for (size_t i = 0; i < cas->nr_expectations; i++) {
		const struct jp_expectation *expectation = &cas->expectations[i];
		const struct jp_metric *metric =
			jp_findings_metric(&result->findings, expectation->metric);
		enum jp_outcome outcome;
		char why[512];

		if (expectation->allow[0] || result->out_of_scope >> i & 1)
			continue;
		outcome = jp_expect(expectation, metric, why, sizeof(why));
		if (outcome != JP_PASS)
			note(result, outcome, "%s", why);
	}
}

static void check_exceptions(const struct jp_case *cas, struct jp_result *result)
{
	for (size_t i = 0; i < result->findings.nr_exceptions; i++) {
		const struct jp_exception *exception = &result->findings.exceptions[i];

		if (!jp_expect_allows(cas, result->out_of_scope, exception))
			note(result, JP_FAIL, "%s: %" PRIu64 " with cause %s, which nothing allows",
			     exception->metric, exception->count, exception->cause);
	}
}

static bool listed(const struct jp_findings *findings, const struct jp_exception *exception)
{
	for (size_t i = 0; i < findings->nr_exceptions; i++)
		if (strcmp(findings->exceptions[i].metric, exception->metric) == 0 &&
		    strcmp(findings->exceptions[i].cause, exception->cause) == 0)
			return true;
	return false;
}

/* The capture plus what it left out must be without a fault. */
static void check_added_back(const struct jp_findings *again, struct jp_result *result)
{
	if (*again->error) {
		note(result, JP_ERROR, "%s", again->error);
		return;
	}
	for (size_t i = 0; i < again->nr_exceptions; i++) {
		const struct jp_exception *left = &again->exceptions[i];
		bool new = !listed(&result->findings, left);

		/* What was there before is listed with its first one; what is new must say it here.
		 */
		note(result, JP_FAIL,
		     "%s: with what was left out added back, %" PRIu64 " remain with cause %s%s%s",
		     left->metric, left->count, left->cause, new ? ": " : "",
		     new ? left->first : "");
	}
	for (size_t i = 0; i < again->nr_metrics; i++) {
		const struct jp_metric *metric = &again->metrics[i];
		const struct jp_metric *before =
			jp_findings_metric(&result->findings, metric->name);

		if (strncmp(metric->name, "broken.", 7) == 0 && metric->k)
			note(result, JP_FAIL,
			     "%s: with what was left out added back, %" PRIu64 " remain",
			     metric->name, metric->k);
		/* Nothing broken proves nothing where nothing was judged. */
		if (strncmp(metric->name, "judged.", 7) == 0 && (!before || metric->k < before->k))
			note(result, JP_FAIL,
			     "%s: with what was left out added back, %" PRIu64
			     " samples are judged, %" PRIu64 " before",
			     metric->name, metric->k, before ? before->k : 0);
	}
}

/* A capture that is wrong on purpose must be caught, and for that reason alone. */
static void check_control(const struct jp_case *cas, const struct jp_findings *again,
			  struct jp_result *result)
{
	const char *cause = cas->control;
	const struct jp_findings *findings = &result->findings;
	uint64_t caught = 0;

	for (size_t i = 0; i < findings->nr_exceptions; i++) {
		const struct jp_exception *exception = &findings->exceptions[i];

		if (strcmp(exception->cause, cause) == 0)
			caught += exception->count;
		else
			note(result, JP_FAIL,
			     "%s: %" PRIu64 " with cause %s; a control fails by %s alone",
			     exception->metric, exception->count, exception->cause, cause);
	}
	if (!caught)
		note(result, JP_FAIL, "not caught: no exception has the cause %s", cause);
	check_added_back(again, result);
	if (result->outcome == JP_PASS)
		note(result, JP_PASS,
		     "caught: %" PRIu64 " exceptions, all %s; added back: 0 broken, 0 exceptions",
		     caught, cause);
}

static void apply_xfail(const struct jp_case *cas, struct jp_result *result)
{
	if (!cas->xfail)
		return;
	if (result->outcome == JP_FAIL) {
		result->outcome = JP_XFAIL;
		note(result, JP_XFAIL, "expected to fail: %s", cas->xfail);
	} else if (result->outcome == JP_PASS) {
		result->outcome = JP_XPASS;
		note(result, JP_XPASS, "passes, but was expected to fail: %s", cas->xfail);
	}
}

/* @words: "VERB SIGNAL WHY", as jp_profiler_crashed() writes it. */
static void judge_crash(const struct jp_case *cas, const char *dir, char *words,
			struct jp_result *result)
{
	char *rest = words, *verb = strsep(&rest, " "), *signal = strsep(&rest, " "), *environment;
	size_t size;

	result->outcome = JP_ERROR;
	if (!rest) {
		snprintf(result->why, sizeof(result->why),
			 "%s/crash: expected what was done, a signal or '-', and words", dir);
		return;
	}
	snprintf(result->why, sizeof(result->why), "%s", rest);
	if (strcmp(signal, "-") != 0) {
		result->outcome = JP_CRASH;
		snprintf(result->crashed, sizeof(result->crashed), "%s", signal);
	}
	environment = jp_run_dir_read(dir, "env.json", &size);
	result->out_of_scope = jp_expect_scopes(cas, environment);
	free(environment);
	for (size_t i = 0; i < cas->nr_expectations; i++) {
		const struct jp_expectation *allow = &cas->expectations[i];

		if (result->out_of_scope >> i & 1 || strcmp(allow->allow, "tool-crash") != 0 ||
		    strcmp(allow->metric, verb) != 0)
			continue;
		result->outcome = JP_XFAIL;
		note(result, JP_XFAIL, "expected to fail: %s", allow->reason);
		return;
	}
}

/* The validators' findings into @result; what they find with what the control left out added back,
 * into @again. False: there is nothing to judge. */
static bool find(const struct jp_case *cas, const char *dir, struct jp_result *result,
		 struct jp_findings *again)
{
	const struct jp_asked asked = {.names = cas->publish || cas->inject,
				       .injected = cas->inject,
				       .methods = cas->methods};
	const struct jp_control *control =
		cas->control ? jp_registry_find(JP_CONTROL, cas->control) : NULL;
	struct jp_judgement judgement = {0};
	struct jp_evidence *evidence;
	struct jp_error err = {""};
	int failed = 0;

	if (cas->control && !control) {
		note(result, JP_ERROR, "no control '%s'", cas->control);
		return false;
	}
	evidence = jp_evidence_load(dir, &err);
	if (!evidence || jp_judge(evidence, &asked, control, &judgement, &err)) {
		note(result, JP_ERROR, "%s", err.text);
		failed = -1;
	} else {
		result->info = judgement.info;
		result->findings = judgement.findings;
		*again = judgement.again;
		check_evidence(evidence->truth, &judgement.info, result);
	}
	jp_evidence_free(evidence);
	return !failed;
}

static void judge(const struct jp_case *cas, struct jp_result *result,
		  const struct jp_findings *again)
{
	if (*result->findings.error)
		note(result, JP_ERROR, "%s", result->findings.error);
	/* Worthless evidence stays worthless: FAIL would blame the kernel for it. */
	if (result->outcome == JP_ERROR)
		return;
	check_samples(cas, result);
	check_unjudged(result);
	if (result->outcome == JP_ERROR)
		return;
	check_expectations(cas, result);
	if (cas->control)
		check_control(cas, again, result);
	else
		check_exceptions(cas, result);
	apply_xfail(cas, result);
}

void jp_judge_case(const struct jp_case *cas, const char *dir, struct jp_result *result)
{
	struct jp_findings again = {0};
	char *environment, *crash;
	size_t size;

	result->cas = cas;
	crash = jp_run_dir_read(dir, "crash", &size);
	if (crash) {
		judge_crash(cas, dir, crash, result);
		free(crash);
		return;
	}
	result->outcome = JP_PASS;
	result->why[0] = '\0';
	if (!find(cas, dir, result, &again))
		return;
	environment = jp_run_dir_read(dir, "env.json", &size);
	result->out_of_scope = jp_expect_scopes(cas, environment);
	free(environment);
	judge(cas, result, &again);
	jp_findings_free(&again);
}
