// SPDX-License-Identifier: GPL-2.0-only
/* Outcomes of findings, of controls, and of too little evidence. */
#include "harness/outcome/checks.h"
#include "harness/selftest/support/check.h"

static void check_outcome(const char *label, const struct jp_result *result,
			  enum jp_outcome outcome, const char *reason)
{
	check(result->outcome == outcome && (!reason || strstr(result->reasons, reason)),
	      "%s gives %s (%.*s)", label, jp_outcome_text(result->outcome),
	      (int)strcspn(result->reasons, "\n"), result->reasons);
}

TEST(unbalanced_accounts)
{
	struct jp_accounts accounts = {0};
	struct jp_account *samples = jp_accounts_open(&accounts, "samples");
	const struct jp_account own = {.total = 9}, code = {.of = "samples", .part = "code"},
				no_account = {.of = "samples", .part = "kernel"},
				missing = {.of = "records", .part = "code"};

	if (!samples || jp_account_count(samples, "native", 3) ||
	    jp_account_count(samples, "code", 4))
		exit(99);
	check(jp_account_total(&accounts, &own) == 9, "an account has its own total");
	check(jp_account_total(&accounts, &code) == 4, "a total can be a class of another account");
	check(jp_account_total(&accounts, &no_account) == 0, "an empty class gives a total of 0");
	check(jp_account_total(&accounts, &missing) == UINT64_MAX,
	      "a missing account gives no total");
	jp_accounts_free(&accounts);
}

/* An expectation may come before or after the allowed exceptions. */
TEST(expectation_with_allowed_exceptions)
{
	static const char *const texts[] = {
		"case a/b check : w : launch : samples=1\n"
		"\tbroken.dump allow no-record <=0 # never\n\tdistinct >=99999 # many\n",
		"case a/b check : w : launch : samples=1\n"
		"\tdistinct >=99999 # many\n\tbroken.dump allow no-record <=0 # never\n",
	};

	for (size_t i = 0; i < 2; i++) {
		struct jp_error err = {""};
		struct jp_result result = {0};
		struct jp_cases *cases =
			jp_cases_parse(NULL, "case", NULL, texts[i], strlen(texts[i]), &err);

		if (!check(cases, "the case is read %s", err.text))
			continue;
		jp_judge_case(&cases->cases[0], "validators/fixtures/anon", &result);
		check_outcome(i ? "a first expectation" : "a last expectation", &result, JP_FAIL,
			      "distinct");
		jp_findings_free(&result.findings);
		jp_cases_free(cases);
	}
}

/* A metric that serves another metric has a bound only if the case expects that other metric. */
TEST(bound_of_a_serving_metric)
{
	static const struct jp_role role = {.bound = JP_ALL_N, .serves = "insn.hit"};

	for (int expected = 0; expected < 2; expected++) {
		struct jp_expectation expectation = {.metric = "insn.hit"};
		struct jp_case cas = {.expectations = &expectation, .nr_expectations = expected};
		struct jp_result result = {.cas = &cas, .findings.judged[JP_CHAIN] = true};

		jp_findings_add_role_rate(&result.findings, &role, "insn.given", 3, 4);
		jp_check_evidence(&result);
		check_outcome(expected ? "an expected metric" : "no expected metric", &result,
			      expected ? JP_ERROR : JP_PASS,
			      expected ? "insn.given is 3, the case needs 4" : NULL);
		jp_findings_free(&result.findings);
	}
}

TEST(outcome_texts)
{
	check(strcmp(jp_outcome_text(JP_CRASH), "CRASH") == 0 &&
		      strcmp(jp_outcome_text(JP_OUTCOMES), "?") == 0 &&
		      strcmp(jp_outcome_text((enum jp_outcome) - 1), "?") == 0,
	      "each outcome has a word, and others give '?'");
}
