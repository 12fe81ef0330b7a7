// SPDX-License-Identifier: GPL-2.0-only
/* What becomes an outcome of findings: of controls, and of too little evidence. */
#include "harness/outcome/checks.h"
#include "harness/selftest/support/check.h"

static const struct jp_role judged = {.bound = JP_LEAST_K, .steady = true};
static const struct jp_role fault = {.fault = true};
static const struct jp_role elsewhere = {.elsewhere = true, .tail = "elsewhere"};
static const struct jp_role unjudged = {.bound = JP_MOST_UNJUDGED};
static const struct jp_role distinct = {.bound = JP_LEAST_DISTINCT};
static const struct jp_role names = {.bound = JP_LEAST_N};

static void told(const char *what, const struct jp_result *result, enum jp_outcome outcome,
		 const char *why)
{
	check(result->outcome == outcome && (!why || strstr(result->why, why)), "%s: %s (%.*s)",
	      what, jp_outcome_text(result->outcome), (int)strcspn(result->why, "\n"), result->why);
}

/* 90 exceptions of the control; with what it left out added back, so many judged, broken and left.
 */
static void controls(void)
{
	static const struct {
		const char *what;
		uint64_t before, again, broken, left, other;
		enum jp_outcome outcome;
		const char *why;
	} table[] = {
		{"caught", 100, 100, 0, 0, 0, JP_PASS, "caught: 90 exceptions"},
		{"more are judged then", 100, 101, 0, 0, 0, JP_PASS, "caught"},
		{"fewer are judged then", 100, 99, 0, 0, 0, JP_FAIL, "99 samples are judged, 100"},
		{"nothing was judged before", 0, 0, 0, 0, 0, JP_PASS, "caught"},
		{"one is broken then", 100, 100, 1, 0, 0, JP_FAIL, "broken.dump: with what"},
		{"one exception remains", 100, 100, 0, 1, 0, JP_FAIL, "1 remain with cause gate"},
		{"another cause", 100, 100, 0, 0, 1, JP_FAIL, "1 with cause other; a control"},
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
		told(table[i].what, &result, table[i].outcome, table[i].why);
	}
}

static void control_without(void)
{
	static const struct jp_case cas = {.name = "a/b", .control = "gate"};
	struct jp_result result = {.cas = &cas};
	struct jp_metric then = jp_metric_count("judged.dump", 5);
	struct jp_findings again = {.metrics = &then, .nr_metrics = 1};

	then.role = &judged;
	jp_check_control(&again, &result);
	told("no exception at all", &result, JP_FAIL,
	     "not caught: no exception has the cause gate");
	told("judged only then", &result, JP_FAIL, "5 samples are judged, 0 before");
	result = (struct jp_result){.cas = &cas};
	strcpy(again.error, "torn");
	jp_check_control(&again, &result);
	told("it cannot be judged again", &result, JP_FAIL, "torn");
}

static void misplaced(void)
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
		/* Whatever the verdicts, and by the method that has most. */
		result.findings.verdicts[JP_CHAIN][JP_WRONG] = table[i].here / 2;
		result.findings.verdicts[JP_CHAIN][JP_UNJUDGED] = (table[i].here + 1) / 2;
		result.findings.verdicts[JP_DUMP][JP_EXACT] = table[i].here / 3;
		jp_check_elsewhere(&result);
		snprintf(what, sizeof(what), "%d here, %d elsewhere", (int)table[i].here,
			 (int)table[i].there);
		told(what, &result, table[i].outcome,
		     table[i].outcome == JP_FAIL ? "are not where the truth says" : NULL);
	}
}

/* Each demand at its border: a case that needs 100 samples in 10 places. */
static void evidence(void)
{
	static const struct {
		const char *what;
		const struct jp_role *role;
		uint64_t k, n;
		bool any;
		enum jp_outcome outcome;
	} table[] = {
		{"enough", &judged, 100, 0, true, JP_PASS},
		{"one less", &judged, 99, 0, true, JP_ERROR},
		{"no method", &judged, 100, 0, false, JP_ERROR},
		{"names enough", &names, 0, 100, true, JP_PASS},
		{"names, one less", &names, 99, 99, true, JP_ERROR},
		{"places enough", &distinct, 10, 0, true, JP_PASS},
		{"places, one less", &distinct, 9, 0, true, JP_ERROR},
		{"unjudged, 2 %", &unjudged, 20, 1000, true, JP_PASS},
		{"unjudged, more", &unjudged, 21, 1000, true, JP_ERROR},
		{"no role", NULL, 0, 0, true, JP_PASS},
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
		told(table[i].what, &result, table[i].outcome, NULL);
	}
}

/* What a book adds up to: its own total, or a class of another book. */
static void books(void)
{
	struct jp_books books = {0};
	struct jp_book *samples = jp_books_open(&books, "samples");
	const struct jp_book own = {.total = 9}, code = {.of = "samples", .part = "code"},
			     none = {.of = "samples", .part = "kernel"},
			     missing = {.of = "records", .part = "code"};

	if (!samples || jp_book_count(samples, "native", 3) || jp_book_count(samples, "code", 4))
		exit(99);
	check(jp_book_total(&books, &own) == 9, "a total that is known");
	check(jp_book_total(&books, &code) == 4, "a class of another book");
	check(jp_book_total(&books, &none) == 0, "a class that is empty");
	check(jp_book_total(&books, &missing) == UINT64_MAX, "a book that is missing");
	jp_books_free(&books);
}

/* An expectation counts wherever it stands among what is allowed. */
static void order(void)
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

		if (!check(cases, "a case is read %s", err.text))
			continue;
		jp_judge_case(&cases->cases[0], "validators/fixtures/anon", &result);
		told(i ? "first" : "last", &result, JP_FAIL, "distinct");
		jp_findings_free(&result.findings);
		jp_cases_free(cases);
	}
}

static void texts(void)
{
	check(strcmp(jp_outcome_text(JP_CRASH), "CRASH") == 0 &&
		      strcmp(jp_outcome_text(JP_OUTCOMES), "?") == 0 &&
		      strcmp(jp_outcome_text((enum jp_outcome) - 1), "?") == 0,
	      "each outcome has a word, and what is none has one, too");
}

int main(void)
{
	texts();
	books();
	order();
	controls();
	control_without();
	misplaced();
	evidence();
	return check_done();
}
