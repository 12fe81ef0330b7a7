// SPDX-License-Identifier: GPL-2.0-only
#include "harness/outcome/checks.h"

#include <inttypes.h>
#include <string.h>

#include "harness/base/path.h"
#include "harness/outcome/expect.h"

/* Percentage of unjudged samples that a case without an expectation may have. */
#define MAX_UNJUDGED 2
/* Largest difference, in ns, between the clocks of truth and capture. With a larger one, the times
 * before and after an act prove nothing (docs/results-format.md). */
#define MAX_SLACK_NS 100000

void jp_check_files(const struct jp_truth *truth, const struct jp_judgement *judgement,
		    struct jp_result *result)
{
	const struct jp_perfdata_summary *file = &judgement->file;
	const struct jp_capture_info *info = &judgement->info;
	const struct {
		const char *lead;
		uint64_t count;
		const char *text;
	} faults[] = {
		{"", file->unknown_ids, "records of perf.data have an id that no event of it has"},
		{"", file->nr_behind,
		 "records of perf.data are older than an earlier FINISHED_ROUND record permits"},
		{"the truth has ", truth->gaps, "incomplete records before complete ones"},
		{"the truth is full: ", truth->overflow, "records were lost"},
		{"the truth has ", truth->strangers,
		 "records of threads that have no start record"},
		{"the truth has ", truth->disorder, "records whose times contradict their order"},
		{"the machine's clocks disagree: ", truth->overspent,
		 "activations used more CPU time than passed by CLOCK_MONOTONIC"},
		{"the truth has ", truth->unpaired,
		 "starts without an end, or ends without a start, of threads or processes"},
		{"", info->lost_sideband,
		 "sideband records (mappings, processes, names) were lost"},
	};

	for (size_t i = 0; i < sizeof(faults) / sizeof(*faults); i++)
		if (faults[i].count)
			jp_note(result, JP_ERROR, "%s%" PRIu64 " %s", faults[i].lead,
				faults[i].count, faults[i].text);
	if (info->slack > MAX_SLACK_NS)
		jp_note(result, JP_ERROR,
			"the clocks of truth and capture differ by %" PRIu64
			" ns; at most %d are usable",
			info->slack, MAX_SLACK_NS);
	if (!info->settled)
		jp_note(result, JP_ERROR,
			"threads were started faster than they could be listed: the mappings of "
			"some were not recorded");
}

/* Returns the most samples that any method judged. */
static uint64_t count_judged_samples(const struct jp_findings *findings)
{
	uint64_t max = 0;

	for (enum jp_method method = 0; method < JP_METHODS; method++) {
		uint64_t sum = 0;

		for (int verdict = 0; verdict < JP_VERDICTS; verdict++)
			sum += findings->verdicts[method][verdict];
		max = sum > max ? sum : max;
	}
	return max;
}

static bool has_expectation(const struct jp_result *result, const char *metric)
{
	const struct jp_case *cas = result->cas;

	for (size_t i = 0; i < cas->nr_expectations; i++)
		if (!(result->out_of_scope >> i & 1) &&
		    strcmp(cas->expectations[i].metric, metric) == 0)
			return true;
	return false;
}

static bool is_elsewhere(const struct jp_result *result, const struct jp_metric *metric)
{
	return metric->role && metric->role->is_elsewhere &&
	       !(metric->role->foreign && jp_case_records_whole_machine(result->cas)) &&
	       !has_expectation(result, metric->name);
}

void jp_check_samples_elsewhere(struct jp_result *result)
{
	const struct jp_findings *findings = &result->findings;
	uint64_t elsewhere = 0, nr_judged = count_judged_samples(findings);

	for (size_t i = 0; i < findings->nr_metrics; i++)
		if (is_elsewhere(result, &findings->metrics[i]))
			elsewhere += findings->metrics[i].k;
	if (elsewhere <= nr_judged || nr_judged + elsewhere < result->cas->samples)
		return;
	jp_note(result, JP_FAIL,
		"%" PRIu64 " samples are outside of the code that the truth states, %" PRIu64
		" are inside:",
		elsewhere, nr_judged);
	for (size_t i = 0; i < findings->nr_metrics; i++)
		if (is_elsewhere(result, &findings->metrics[i]))
			jp_note(result, JP_FAIL, "  %" PRIu64 " %s", findings->metrics[i].k,
				findings->metrics[i].role->tail);
}

static void check_enough_samples(enum jp_bound bound, struct jp_result *result)
{
	const struct jp_findings *findings = &result->findings;
	const uint64_t min = bound == JP_SOME_N           ? 1
			     : bound == JP_LEAST_DISTINCT ? result->cas->distinct
							  : result->cas->samples;

	for (size_t i = 0; i < findings->nr_metrics; i++) {
		const struct jp_metric *metric = &findings->metrics[i];
		const struct jp_role *role = metric->role;
		const uint64_t figure =
			bound == JP_LEAST_N || bound == JP_SOME_N ? metric->n : metric->k;
		const uint64_t nr_needed = bound == JP_ALL_N ? metric->n : min;

		if (role && role->bound == bound && figure < nr_needed &&
		    (!role->serves || has_expectation(result, role->serves)))
			jp_note(result, JP_ERROR,
				"too little evidence: %s%s%" PRIu64 "%s, the case needs %" PRIu64,
				role->lead ?: metric->name, role->lead ? "" : " is ", figure,
				role->tail ?: "", nr_needed);
	}
}

/* Limits the number of lost samples, which cannot be judged and so cannot be wrong, and the share
 * of unjudged samples, which cannot fail, even if enough samples are judged. */
static void check_upper_limits(struct jp_result *result)
{
	const struct jp_findings *findings = &result->findings;

	for (size_t i = 0; i < findings->nr_metrics; i++) {
		const struct jp_metric *metric = &findings->metrics[i];
		char figure[160];

		if (!metric->role || has_expectation(result, metric->name))
			continue;
		jp_expect_format_metric(metric, figure, sizeof(figure));
		if (metric->role->bound == JP_MOST_LOST && metric->k > metric->excused)
			jp_note(result, JP_ERROR, "%s is %s, but the case does not allow any",
				metric->name, figure);
		if (metric->role->bound == JP_MOST_UNJUDGED &&
		    (double)metric->k * 100 > (double)metric->n * MAX_UNJUDGED)
			jp_note(result, JP_ERROR,
				"too little evidence: %s is %s, at most %d %% are usual",
				metric->name, figure, MAX_UNJUDGED);
	}
}

void jp_check_balance(struct jp_result *result)
{
	const struct jp_accounts *accounts = &result->findings.accounts;

	for (size_t i = 0; i < accounts->count; i++) {
		const struct jp_account *account = &accounts->accounts[i];
		uint64_t sum = jp_account_sum(account), total = jp_account_total(accounts, account);

		if (sum == total)
			continue;
		jp_note(result, JP_ERROR,
			"the accounting does not balance: the classes of %s add up to %" PRIu64
			", there are %" PRIu64 "%s%s%s%s",
			account->name, sum, total == UINT64_MAX ? 0 : total,
			account->of ? " in " : "", account->of ?: "", account->of ? ", " : "",
			account->of ? account->part : "");
	}
}

void jp_check_enough_acts(const struct jp_evidence *evidence, const char *dir,
			  struct jp_result *result)
{
	const struct jp_case *cas = result->cas;
	uint64_t counts[JP_ACTS];
	struct jp_error err;
	char path[4096];

	if (!cas->acts.count)
		return;
	if (jp_path_build(path, sizeof(path), &err, "%s/truth", dir) ||
	    jp_acts_count(path, evidence->watched.started, evidence->watched.sampling_since,
			  evidence->watched.ending, counts, &err))
		jp_note(result, JP_ERROR, "%s", err.text);
	else if (counts[cas->acts.act] < cas->acts.count)
		jp_note(result, JP_ERROR,
			"too little evidence: %" PRIu64
			" acts of kind %s while the capture ran, the case needs %u",
			counts[cas->acts.act], jp_act_text[cas->acts.act], cas->acts.count);
}

void jp_check_evidence(struct jp_result *result)
{
	const struct jp_case *cas = result->cas;
	const bool dumps = cas->methods && !(cas->methods >> JP_CHAIN & 1);
	bool has_judged = false;

	check_enough_samples(JP_LEAST_N, result);
	check_enough_samples(JP_LEAST_K, result);
	for (enum jp_method method = 0; method < JP_METHODS; method++)
		has_judged |= result->findings.judged[method];
	if (!has_judged)
		jp_note(result, JP_ERROR, "nothing was checked: no sample was judged%s",
			dumps && !result->info.stack_dump
				? "; the case's methods need stack dumps, by --stack"
				: "");
	check_enough_samples(JP_LEAST_DISTINCT, result);
	check_enough_samples(JP_ALL_N, result);
	if (has_judged)
		check_enough_samples(JP_SOME_N, result);
	check_upper_limits(result);
}
