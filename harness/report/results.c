// SPDX-License-Identifier: GPL-2.0-only
#include "harness/report/results.h"

#include "harness/model/causes/causes.h"
#include "harness/model/unwind/methods.h"
#include "harness/outcome/expect.h"
#include "harness/report/fault.h"

/* Writes a metric. The numbers of "expect" are rates if the expectation is a percentage, else
 * counts. A range without a lower or upper limit has null there. */
static void write_metric(struct jp_json *json, const struct jp_result *result,
			 const struct jp_metric *metric)
{
	const struct jp_expectation *expectation = jp_expect_find_range(result, metric->name);

	jp_json_object(json, metric->name);
	jp_json_u64(json, "k", metric->k);
	if (metric->rate) {
		jp_json_u64(json, "n", metric->n);
		jp_json_double(json, "lo", metric->lo);
		jp_json_double(json, "hi", metric->hi);
	}
	if (expectation) {
		jp_json_array(json, "expect");
		jp_json_double(json, NULL, expectation->min);
		jp_json_double(json, NULL, expectation->max);
		jp_json_end(json);
		jp_json_string(json, "unit", expectation->percent ? "rate" : "count");
	}
	jp_json_end(json);
}

static void write_exceptions(struct jp_json *json, const struct jp_result *result)
{
	const struct jp_findings *findings = &result->findings;

	jp_json_array(json, "exceptions");
	for (size_t i = 0; i < findings->nr_exceptions; i++) {
		const struct jp_exception *exception = &findings->exceptions[i];
		const struct jp_expectation *allow = jp_expect_find_permission(result, exception);
		const struct jp_cause *cause =
			jp_cause_of_word(exception->metric, exception->cause);
		char bound[80];

		jp_json_object(json, NULL);
		jp_json_string(json, "metric", exception->metric);
		jp_json_string(json, "cause", exception->cause);
		if (cause)
			jp_json_string(json, "id", cause->id);
		jp_json_u64(json, "count", exception->count);
		if (allow) {
			jp_json_string(json, "allowed",
				       jp_expect_bound(allow, bound, sizeof(bound)));
			jp_json_string(json, "reason", allow->reason);
		}
		jp_json_string(json, "first", exception->example);
		jp_json_end(json);
	}
	jp_json_end(json);
}

static void write_verdicts(struct jp_json *json, const char *name,
			   const struct jp_findings *findings,
			   const uint64_t (*verdicts)[JP_VERDICTS])
{
	jp_json_object(json, name);
	for (enum jp_method method = 0; method < JP_METHODS; method++) {
		if (!findings->judged[method])
			continue;
		jp_json_object(json, jp_method_name(method));
		for (int verdict = 0; verdict < JP_VERDICTS; verdict++)
			if (verdicts[method][verdict])
				jp_json_u64(json, jp_verdict_text(verdict),
					    verdicts[method][verdict]);
		jp_json_end(json);
	}
	jp_json_end(json);
}

static void write_accounts(struct jp_json *json, const struct jp_accounts *accounts)
{
	jp_json_object(json, "books");
	for (size_t i = 0; i < accounts->count; i++) {
		const struct jp_account *account = &accounts->accounts[i];

		jp_json_object(json, account->name);
		for (size_t class = 0; class < account->nr_classes; class ++)
			jp_json_u64(json, account->classes[class].name,
				    account->classes[class].count);
		jp_json_end(json);
	}
	jp_json_end(json);
}

/* Writes the validators that did not judge, and what the capture lacks for each. */
static void write_skipped(struct jp_json *json, const struct jp_findings *findings)
{
	if (!findings->nr_skipped)
		return;
	jp_json_object(json, "skipped");
	for (size_t i = 0; i < findings->nr_skipped; i++)
		jp_json_string(json, findings->skipped[i].validator, findings->skipped[i].lack);
	jp_json_end(json);
}

static void write_readers(struct jp_json *json, const struct jp_findings *findings)
{
	if (!findings->nr_readers)
		return;
	jp_json_array(json, "readers");
	for (size_t i = 0; i < findings->nr_readers; i++) {
		const struct jp_reader *reader = &findings->readers[i];

		jp_json_object(json, NULL);
		jp_json_string(json, "reader", reader->name);
		jp_json_string(json, "file", reader->file);
		jp_json_string(json, "answer", jp_reader_answer_text(reader->answer));
		jp_json_u64(json, "samples", reader->samples);
		jp_json_end(json);
	}
	jp_json_end(json);
}

static void write_info(struct jp_json *json, const struct jp_capture_info *info)
{
	jp_json_object(json, "facts");
	jp_json_string(json, "policy", info->policy);
	jp_json_u64(json, "slack", info->slack);
	jp_json_u64(json, "max_stack", info->max_stack);
	jp_json_u64(json, "stack_dump", info->stack_dump);
	jp_json_u64(json, "duplicates", info->duplicates);
	jp_json_u64(json, "breakpoints", info->breakpoints);
	jp_json_end(json);
	jp_json_object(json, "lost");
	jp_json_u64(json, "sideband", info->lost_sideband);
	jp_json_u64(json, "samples", info->lost_samples);
	jp_json_end(json);
}

void jp_results_write_into(struct jp_json *json, const struct jp_result *result)
{
	const struct jp_findings *findings = &result->findings;
	char fault[2048];

	jp_json_object(json, NULL);
	jp_json_string(json, "case", result->cas->name);
	jp_json_string(json, "study", result->cas->study);
	jp_json_bool(json, "control", result->cas->control);
	jp_json_string(json, "outcome", jp_outcome_text(result->outcome));
	jp_json_string(json, "why", result->reasons);
	if (result->outcome != JP_PASS && result->outcome != JP_SKIP)
		jp_json_string(json, "fault", jp_fault_describe(result, fault, sizeof(fault)));
	if (result->crashed[0])
		jp_json_string(json, "crashed", result->crashed);
	jp_json_double(json, "seconds", result->seconds);
	jp_json_object(json, "metrics");
	for (size_t i = 0; i < findings->nr_metrics; i++)
		write_metric(json, result, &findings->metrics[i]);
	jp_json_end(json);
	write_verdicts(json, "verdicts", findings, findings->verdicts);
	write_verdicts(json, "verdicts_in_kernel", findings, findings->in_kernel);
	write_exceptions(json, result);
	write_accounts(json, &findings->accounts);
	write_skipped(json, findings);
	write_readers(json, findings);
	write_info(json, &result->info);
	jp_json_end(json);
}

void jp_results_write(FILE *out, const struct jp_result *result)
{
	struct jp_json json;

	jp_json_begin(&json, out);
	jp_results_write_into(&json, result);
	fflush(out);
}
