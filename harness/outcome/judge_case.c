// SPDX-License-Identifier: GPL-2.0-only
#include "harness/outcome/checks.h"

#include <inttypes.h>
#include <math.h>

#include "harness/base/cleanup.h"
#include "harness/base/clock.h"
#include "harness/base/shortage.h"
#include "harness/format/rundir/run_dir.h"
#include "harness/model/causes/causes.h"
#include "harness/outcome/expect.h"

/* Returns whether excuses permit all that the metric counted. They do not apply if the case expects
 * a least number. */
static bool is_excused(const struct jp_expectation *expectation, const struct jp_metric *metric)
{
	return metric->k && metric->k <= metric->excused && expectation->min <= 0;
}

static void check_expectations(const struct jp_case *cas, struct jp_result *result)
{
	for (size_t i = 0; i < cas->nr_expectations; i++) {
		const struct jp_expectation *expectation = &cas->expectations[i];
		const struct jp_metric *metric =
			jp_findings_find_metric(&result->findings, expectation->metric);
		enum jp_outcome outcome;
		char reason[512];

		if (expectation->allow[0] || result->out_of_scope >> i & 1)
			continue;
		outcome = jp_expect(expectation, metric, reason, sizeof(reason));
		/* Missing evidence is an ERROR, not a FAIL, because the judged tool is not at
		 * fault. */
		if (outcome != JP_PASS && metric && metric->role &&
		    metric->role->bound == JP_MOST_LOST)
			outcome = is_excused(expectation, metric) ? JP_PASS : JP_ERROR;
		if (outcome != JP_PASS)
			jp_note(result, outcome, "%s", reason);
	}
}

static void check_allowance_bound(const struct jp_expectation *allow, struct jp_result *result)
{
	char reason[512];
	const enum jp_outcome outcome =
		jp_expect_compare_with_bound(allow, &result->findings, reason, sizeof(reason));

	if (outcome != JP_PASS)
		jp_note(result, outcome, "%s", reason);
}

static void check_exceptions(const struct jp_case *cas, struct jp_result *result)
{
	for (size_t i = 0; i < result->findings.nr_exceptions; i++) {
		const struct jp_exception *exception = &result->findings.exceptions[i];
		const struct jp_expectation *allow = jp_expect_find_permission(result, exception);
		char cause[80];

		if (allow && (allow < cas->expectations ||
			      allow >= cas->expectations + cas->nr_expectations))
			check_allowance_bound(allow, result); /* an excuse */
		if (!allow)
			jp_note(result, JP_FAIL,
				"%s: %" PRIu64 " with cause %s, which nothing allows",
				exception->metric, exception->count,
				jp_cause_text(exception->metric, exception->cause, cause,
					      sizeof(cause)));
	}
	for (size_t i = 0; i < cas->nr_expectations; i++)
		if (cas->expectations[i].allow[0] && !(result->out_of_scope >> i & 1))
			check_allowance_bound(&cas->expectations[i], result);
}

static void apply_xfail(const struct jp_case *cas, struct jp_result *result)
{
	if (!cas->xfail)
		return;
	if (result->outcome == JP_FAIL) {
		result->outcome = JP_XFAIL;
		jp_note(result, JP_XFAIL, "expected to fail: %s", cas->xfail);
	} else if (result->outcome == JP_PASS) {
		result->outcome = JP_XPASS;
		jp_note(result, JP_XPASS, "passes, but was expected to fail: %s", cas->xfail);
	}
}

/* Makes the result an ERROR if an `allow` line has no bound. Cases that were recorded before truth
 * version 3 have no bounds. */
static void check_bounds(const struct jp_case *cas, uint32_t version, struct jp_result *result)
{
	for (size_t i = 0; version >= 3 && i < cas->nr_expectations; i++) {
		const struct jp_expectation *allow = &cas->expectations[i];

		if (allow->allow[0] && isinf(allow->max) && !allow->is_predicted &&
		    !allow->limit[0])
			jp_note(result, JP_ERROR, "%s: allow %s has no bound", allow->metric,
				allow->allow);
	}
}

/* Stores the validators' findings in @result. For a control, stores in @control_findings the
 * findings after what it left out was added back. Returns false if there is nothing to judge. */
static bool judge_evidence(const struct jp_case *cas, const char *dir, const char *environment,
			   struct jp_result *result, struct jp_findings *control_findings)
{
	const struct jp_asked requested = {.names = cas->publish || cas->inject,
					   .injected = cas->inject,
					   .methods = cas->methods,
					   .listener = result->listener};
	const struct jp_control *control =
		cas->control ? jp_registry_find(JP_CONTROL, cas->control) : NULL;
	struct jp_judgement judgement = {0};
	struct jp_evidence *evidence;
	struct jp_error err = {""};
	int failed = 0;

	if (cas->control && !control) {
		jp_note(result, JP_ERROR, "no control '%s'", cas->control);
		return false;
	}
	evidence = jp_evidence_load(dir, &err);
	if (!evidence || jp_judge(evidence, &requested, control, &judgement, &err)) {
		jp_note(result, JP_ERROR, "%s", err.text);
		failed = -1;
	} else {
		result->info = judgement.info;
		result->tells_losses = !evidence->declared.no_losses;
		result->findings = judgement.findings;
		*control_findings = judgement.again;
		jp_check_window(evidence, result);
		jp_check_stated(evidence, &judgement.file, environment, result);
		result->contradicted = result->outcome == JP_ERROR || result->findings.contradicted;
		jp_check_files(evidence->truth, &judgement, result);
		jp_check_enough_acts(evidence, dir, result);
		check_bounds(cas, evidence->truth->version, result);
		result->sampled_seconds =
			(double)(evidence->watched.ending - evidence->watched.sampling_since) /
			(double)JP_NS_PER_S;
	}
	jp_evidence_free(evidence);
	return !failed;
}

/* Adds to an ERROR that the capture was slower than the case asks. */
static void note_slow_capture(struct jp_result *result)
{
	const struct jp_capture_info *info = &result->info;

	if (result->outcome == JP_ERROR && info->frequency &&
	    info->frequency < info->frequency_asked)
		jp_note(result, JP_ERROR,
			"the capture took %" PRIu64 " samples a second of the %" PRIu64
			" that the case asks for: a higher kernel.perf_event_max_sample_rate or "
			"perf_event_mlock_kb allows more",
			info->frequency, info->frequency_asked);
}

static void judge_findings(const struct jp_case *cas, struct jp_result *result,
			   const struct jp_findings *control_findings)
{
	if (result->outcome != JP_ERROR)
		jp_check_samples_elsewhere(result);
	if (*result->findings.error)
		jp_note(result, JP_ERROR, "%s", result->findings.error);
	else
		jp_check_balance(result);
	/* An ERROR stays an ERROR: FAIL would blame the kernel for bad evidence. */
	if (result->outcome == JP_ERROR)
		return;
	jp_check_evidence(result);
	if (result->outcome == JP_ERROR)
		return;
	check_expectations(cas, result);
	if (cas->control)
		jp_check_control(control_findings, result);
	else
		check_exceptions(cas, result);
	apply_xfail(cas, result);
}

/* Makes the result an ERROR if jitproof itself lacked memory or another resource. */
static void check_shortage(struct jp_result *result)
{
	struct jp_error err;

	if (!jp_shortage_describe(err.text, sizeof(err.text)))
		return;
	*result->reasons = '\0';
	result->outcome = JP_ERROR;
	jp_note(result, JP_ERROR, "%s", err.text);
}

void jp_judge_case(const struct jp_case *cas, const char *dir, struct jp_result *result)
{
	struct jp_findings control_findings = {0};
	jp_cleanup_free char *environment = NULL;
	size_t size;

	result->cas = cas;
	jp_shortage_begin();
	if (jp_check_crash(dir, result))
		return;
	result->outcome = JP_PASS;
	result->contradicted = false;
	result->reasons[0] = '\0';
	environment = jp_run_dir_read(dir, "env.json", &size);
	if (!judge_evidence(cas, dir, environment, result, &control_findings)) {
		check_shortage(result);
		return;
	}
	result->out_of_scope = jp_expect_scopes(cas, environment);
	judge_findings(cas, result, &control_findings);
	note_slow_capture(result);
	jp_findings_free(&control_findings);
	check_shortage(result);
}
