// SPDX-License-Identifier: GPL-2.0-only
/* Outcomes of findings, of controls, and of too little evidence. */
#include "harness/outcome/checks.h"
#include "harness/selftest/support/check.h"

static const struct jp_role judged = {.bound = JP_LEAST_K, .steady = true};
static const struct jp_role fault = {.fault = true};
static const struct jp_role elsewhere = {.elsewhere = true, .tail = "elsewhere"};
static const struct jp_role unjudged = {.bound = JP_MOST_UNJUDGED};
static const struct jp_role distinct = {.bound = JP_LEAST_DISTINCT};
static const struct jp_role given = {.bound = JP_ALL_N};
static const struct jp_role names_judged = {.bound = JP_LEAST_N};

static void check_outcome(const char *what, const struct jp_result *result, enum jp_outcome outcome,
			  const char *why)
{
	check(result->outcome == outcome && (!why || strstr(result->why, why)),
	      "%s gives %s (%.*s)", what, jp_outcome_text(result->outcome),
	      (int)strcspn(result->why, "\n"), result->why);
}

/* Tests a control with 90 exceptions, and the findings after its omission was added back. */
static void test_controls(void)
{
	static const struct {
		const char *what;
		uint64_t before, again, broken, left, other;
		enum jp_outcome outcome;
		const char *why;
	} table[] = {
		{"a caught control", 100, 100, 0, 0, 0, JP_PASS, "caught: 90 exceptions"},
		{"more judged samples", 100, 101, 0, 0, 0, JP_PASS, "caught"},
		{"fewer judged samples", 100, 99, 0, 0, 0, JP_FAIL, "99 samples are judged, 100"},
		{"no judged sample before", 0, 0, 0, 0, 0, JP_PASS, "caught"},
		{"a broken sample", 100, 100, 1, 0, 0, JP_FAIL, "broken.dump: after the left-out"},
		{"a remaining exception", 100, 100, 0, 1, 0, JP_FAIL, "1 remain with cause gate"},
		{"an exception of another cause", 100, 100, 0, 0, 1, JP_FAIL,
		 "1 with cause other; this control"},
	};
	static const struct jp_case cas = {.name = "a/b", .control = "gate"};

	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		struct jp_exception listed[] = {
			{.metric = "broken.dump", .cause = "gate", .count = 90},
			{.metric = "wrong.dump", .cause = "other", .count = table[i].other}};
		struct jp_exception left = {
			.metric = "broken.dump", .cause = "gate", .count = table[i].left};
		struct jp_metric before = jp_metric_count("judged.dump", table[i].before);
		struct jp_metric then[] = {jp_metric_count("judged.dump", table[i].again),
					   jp_metric_rate("broken.dump", table[i].broken, 100)};
		struct jp_result result = {.cas = &cas,
					   .findings = {.metrics = &before,
							.nr_metrics = 1,
							.exceptions = listed,
							.nr_exceptions = table[i].other ? 2 : 1}};
		struct jp_findings again = {.metrics = then,
					    .nr_metrics = 2,
					    .exceptions = &left,
					    .nr_exceptions = table[i].left ? 1 : 0};

		before.role = then[0].role = &judged;
		then[1].role = &fault;
		jp_check_control(&again, &result);
		check_outcome(table[i].what, &result, table[i].outcome, table[i].why);
	}
}

static void test_misplaced_samples(void)
{
	static const struct {
		uint64_t here, there;
		enum jp_outcome outcome;
	} table[] = {{50, 51, JP_FAIL}, {50, 50, JP_PASS}, {49, 50, JP_PASS},
		     {49, 51, JP_FAIL}, {0, 100, JP_FAIL}, {0, 99, JP_PASS},
		     {100, 0, JP_PASS}, {0, 0, JP_PASS},   {500, 501, JP_FAIL}};
	static const struct jp_case cas = {.samples = 100};

	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		struct jp_metric metrics[] = {jp_metric_count("a", table[i].there / 2),
					      jp_metric_count("b", 1000),
					      jp_metric_count("c", (table[i].there + 1) / 2)};
		struct jp_result result = {.cas = &cas,
					   .findings = {.metrics = metrics, .nr_metrics = 3}};
		char what[64];

		metrics[0].role = metrics[2].role = &elsewhere;
		metrics[1].role = &judged;
		/* All verdicts count, for the method with the most samples. */
		result.findings.verdicts[JP_CHAIN][JP_WRONG] = table[i].here / 2;
		result.findings.verdicts[JP_CHAIN][JP_UNJUDGED] = (table[i].here + 1) / 2;
		result.findings.verdicts[JP_DUMP][JP_EXACT] = table[i].here / 3;
		jp_check_samples_elsewhere(&result);
		snprintf(what, sizeof(what), "%d samples in place and %d elsewhere",
			 (int)table[i].here, (int)table[i].there);
		check_outcome(what, &result, table[i].outcome,
			      table[i].outcome == JP_FAIL ? "are outside of the code" : NULL);
	}
}

/* Tests each requirement at its limit: a case that needs 100 samples in 10 places. */
static void test_evidence(void)
{
	static const struct {
		const char *what;
		const struct jp_role *role;
		uint64_t k, n;
		bool any;
		enum jp_outcome outcome;
	} table[] = {
		{"100 samples", &judged, 100, 0, true, JP_PASS},
		{"99 samples", &judged, 99, 0, true, JP_ERROR},
		{"no judged method", &judged, 100, 0, false, JP_ERROR},
		{"100 names", &names_judged, 0, 100, true, JP_PASS},
		{"99 names", &names_judged, 99, 99, true, JP_ERROR},
		{"10 places", &distinct, 10, 0, true, JP_PASS},
		{"9 places", &distinct, 9, 0, true, JP_ERROR},
		{"all of 9 instructions", &given, 9, 9, true, JP_PASS},
		{"8 of 9 instructions", &given, 8, 9, true, JP_ERROR},
		{"2 % of unjudged samples", &unjudged, 20, 1000, true, JP_PASS},
		{"2.1 % of unjudged samples", &unjudged, 21, 1000, true, JP_ERROR},
		{"a metric without a role", NULL, 0, 0, true, JP_PASS},
	};
	static const struct jp_case cas = {.samples = 100, .distinct = 10};

	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		struct jp_metric metric = table[i].n ? jp_metric_rate("m", table[i].k, table[i].n)
						     : jp_metric_count("m", table[i].k);
		struct jp_result result = {.cas = &cas,
					   .findings = {.metrics = &metric,
							.nr_metrics = 1,
							.judged = {[JP_DUMP] = table[i].any}}};

		metric.role = table[i].role;
		jp_check_evidence(&result);
		check_outcome(table[i].what, &result, table[i].outcome, NULL);
	}
}

static void test_unbalanced_accounts(void)
{
	struct jp_accounts accounts = {0};
	struct jp_account *samples = jp_accounts_open(&accounts, "samples");
	const struct jp_account own = {.total = 9}, code = {.of = "samples", .part = "code"},
				none = {.of = "samples", .part = "kernel"},
				missing = {.of = "records", .part = "code"};

	if (!samples || jp_account_count(samples, "native", 3) ||
	    jp_account_count(samples, "code", 4))
		exit(99);
	check(jp_account_total(&accounts, &own) == 9, "an account has its own total");
	check(jp_account_total(&accounts, &code) == 4, "a total can be a class of another account");
	check(jp_account_total(&accounts, &none) == 0, "an empty class gives a total of 0");
	check(jp_account_total(&accounts, &missing) == UINT64_MAX,
	      "a missing account gives no total");
	jp_accounts_free(&accounts);
}

/* An expectation counts before and after allowed exceptions. */
static void test_expectation_with_allowed_exceptions(void)
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

static void test_outcome_texts(void)
{
	check(strcmp(jp_outcome_text(JP_CRASH), "CRASH") == 0 &&
		      strcmp(jp_outcome_text(JP_OUTCOMES), "?") == 0 &&
		      strcmp(jp_outcome_text((enum jp_outcome) - 1), "?") == 0,
	      "each outcome has a word, and others give '?'");
}

int main(void)
{
	test_outcome_texts();
	test_unbalanced_accounts();
	test_expectation_with_allowed_exceptions();
	test_controls();
	test_misplaced_samples();
	test_evidence();
	return check_done();
}
