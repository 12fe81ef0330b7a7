// SPDX-License-Identifier: GPL-2.0-only
/* Tests expectations: their parser, Wilson's interval, and the outcomes that follow. */
#include <math.h>

#include "harness/base/wilson.h"
#include "harness/case/case.h"
#include "harness/outcome/expect.h"
#include "harness/judge/findings.h"
#include "harness/selftest/support/check.h"

TEST(wilson)
{
	/* From the closed formula, computed separately with 50 digits. */
	static const struct {
		uint64_t k, n;
		double lo, hi;
	} intervals[] = {
		{0, 10, 0, 0.277533},
		{5, 10, 0.236593, 0.763407},
		{10, 10, 0.722467, 1},
		{0, 2000, 0, 0.00191705},
		{1, 2000, 0.0000882705, 0.0028267},
		{1990, 2000, 0.990820, 0.997282},
	};
	double lo, hi;

	for (size_t i = 0; i < sizeof(intervals) / sizeof(intervals[0]); i++) {
		jp_wilson(intervals[i].k, intervals[i].n, &lo, &hi);
		check(fabs(lo - intervals[i].lo) < 1e-6 && fabs(hi - intervals[i].hi) < 1e-6,
		      "Wilson's interval of %d of %d is [%g, %g]", (int)intervals[i].k,
		      (int)intervals[i].n, lo, hi);
	}
	jp_wilson(0, 0, &lo, &hi);
	check(lo == 0 && hi == 1, "Wilson's interval of 0 of 0 is [0, 1]");
}

static struct jp_cases *parse_study(const char *text, struct jp_error *err)
{
	return jp_cases_parse(NULL, "file", "study", text, strlen(text), err);
}

static struct jp_cases *parse_case(const char *text, struct jp_error *err)
{
	return jp_cases_parse(NULL, "case", NULL, text, strlen(text), err);
}

static void check_refusal(const char *text, const char *message)
{
	struct jp_error err = {""};
	struct jp_cases *cases = parse_study(text, &err);

	check(!cases && strncmp(err.text, message, strlen(message)) == 0, "the file is refused: %s",
	      cases ? "(it was accepted)" : err.text);
	jp_cases_free(cases);
}

static struct jp_cases *parse_line(const char *line, struct jp_error *err)
{
	char text[512];

	snprintf(text, sizeof(text), "case a check : w --x=1 : c -y : samples=10\n\t%s\n", line);
	return parse_study(text, err);
}

TEST(outcomes)
{
	static const struct {
		const char *line;
		uint64_t k, n;
		bool rate;
		enum jp_outcome outcome;
	} table[] = {
		{"m =0", 0, 2000, true, JP_PASS},
		{"m =0", 1, 2000, true, JP_FAIL},
		{"m =0", 0, 0, false, JP_PASS},
		{"m =3", 3, 0, false, JP_PASS},
		{"m =3", 2, 0, false, JP_FAIL},
		{"m 0..3", 3, 0, false, JP_PASS},
		{"m 0..3", 4, 0, false, JP_FAIL},
		{"m 1..3", 0, 0, false, JP_FAIL},
		{"m >=2000", 2000, 0, false, JP_PASS},
		{"m >=2000", 1999, 0, false, JP_FAIL},
		{"m <=0.5%", 0, 2000, true, JP_PASS},
		/* The rate is below the limit, but its interval is not. */
		{"m <=0.5%", 9, 2000, true, JP_ERROR},
		{"m <=0.5%", 11, 2000, true, JP_ERROR},
		{"m <=0.5%", 40, 2000, true, JP_FAIL},
		{"m <=0.5%", 0, 100, true, JP_ERROR},
		{"m >=95%", 2000, 2000, true, JP_PASS},
		{"m >=95%", 1000, 2000, true, JP_FAIL},
		{"m >=95%", 1901, 2000, true, JP_ERROR},
		{"m =100%", 2000, 2000, true, JP_PASS},
		{"m =100%", 1999, 2000, true, JP_FAIL},
		{"m =0%", 0, 5, true, JP_PASS},
		{"m 10..20%", 300, 2000, true, JP_PASS},
		{"m 10%..20%", 900, 2000, true, JP_FAIL},
		{"m <=0.5%", 0, 0, true, JP_ERROR},
		{"m <=0.5%", 3, 0, false, JP_ERROR},
		{"m any", 77, 99, true, JP_PASS},
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		struct jp_error err = {""};
		struct jp_cases *cases = parse_line(table[i].line, &err);
		struct jp_metric metric = table[i].rate
						  ? jp_metric_rate("m", table[i].k, table[i].n)
						  : jp_metric_count("m", table[i].k);
		enum jp_outcome outcome = JP_OUTCOMES;
		char reason[512] = "";

		if (cases)
			outcome = jp_expect(cases->cases[0].expectations, &metric, reason,
					    sizeof(reason));
		check(outcome == table[i].outcome, "'%s' for %d of %d gives %s (%s)", table[i].line,
		      (int)table[i].k, (int)table[i].n, jp_outcome_text(outcome),
		      cases ? reason : err.text);
		jp_cases_free(cases);
	}
}

/* Tests bounds of allowed exceptions: @k of @n have cause c, and 1000 others another
 * cause. */
TEST(bounds)
{
	static const struct {
		const char *line;
		uint64_t k, n; /* n 0: the metric is a plain count */
		enum jp_outcome outcome;
	} table[] = {
		{"m allow c <=12 # r", 12, 0, JP_PASS},
		{"m allow c <=12 # r", 13, 0, JP_FAIL},
		{"m allow c <=12 # r", 0, 0, JP_PASS},
		{"m allow c =2 # r", 2, 0, JP_PASS},
		{"m allow c =2 # r", 1, 0, JP_FAIL},
		{"m allow c =2 # r", 0, 0, JP_FAIL},
		{"m allow c 0..2 # r", 0, 0, JP_PASS},
		{"m allow c 1..2 # r", 0, 0, JP_FAIL},
		{"m allow c 1..2 # r", 3, 0, JP_FAIL},
		{"m allow c <=3% # r", 1, 2000, JP_PASS},
		{"m allow c <=3% # r", 60, 2000, JP_ERROR},
		{"m allow c <=3% # r", 100, 2000, JP_FAIL},
		{"m allow c <=3% # r", 0, 2, JP_PASS},
		{"m allow c <=3% # r", 1, 0, JP_ERROR},
		{"m allow c 1..3% # r", 0, 2000, JP_FAIL},
		{"m allow c 1..3% # r", 40, 2000, JP_PASS},
		{"m allow c =100% # r", 2000, 2000, JP_PASS},
		{"m allow c =100% # r", 1999, 2000, JP_FAIL},
		{"m allow c =100% # r", 0, 2000, JP_FAIL},
		{"m.x allow c predicted, predicted.x =100% # r", 1999, 2000, JP_PASS},
		{"m allow c <=seven # r", 7, 2000, JP_PASS},
		{"m allow c <=seven # r", 8, 2000, JP_FAIL},
		{"m allow c <=eight # r", 8, 2000, JP_ERROR},
		{"m allow c <=eight # r", 0, 2000, JP_PASS},
		{"when perf 6: m.x allow c predicted, predicted.x =100% # r", 1, 2, JP_PASS},
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		const bool method = strstr(table[i].line, "m.x");
		struct jp_exception exceptions[] = {{.cause = "other", .count = 1000},
						    {.cause = "c", .count = table[i].k}};
		struct jp_metric metric = table[i].n ? jp_metric_rate("m", table[i].k, table[i].n)
						     : jp_metric_count("m", table[i].k);
		struct jp_metric metrics[] = {metric, jp_metric_count("seven", 7)};
		struct jp_findings findings = {.metrics = metrics,
					       .nr_metrics = 2,
					       .exceptions = exceptions,
					       .nr_exceptions = table[i].k ? 2 : 1};
		struct jp_error err = {""};
		struct jp_cases *cases = parse_line(table[i].line, &err);
		enum jp_outcome outcome = JP_OUTCOMES;
		char reason[512] = "";

		for (size_t j = 0; j < 2; j++)
			strcpy(exceptions[j].metric, method ? "m.x" : "m");
		if (cases)
			outcome = jp_expect_compare_with_bound(cases->cases[0].expectations,
							       &findings, reason, sizeof(reason));
		check(outcome == table[i].outcome, "'%s' for %d of %d gives %s (%s)", table[i].line,
		      (int)table[i].k, (int)table[i].n, jp_outcome_text(outcome),
		      cases ? reason : err.text);
		jp_cases_free(cases);
	}
}

TEST(exceeded_bounds)
{
	static const struct {
		const char *line, *bound, *reason;
	} table[] = {
		{"m allow c <=3 # r", "<=3", "m: 90 of 2000 with cause c; allowed <=3 (r)"},
		{"m allow c <=m # r", "<=m", ""},
		{"m allow c <=n # r", "<=n",
		 "m: 90 with cause c; allowed at most the missing n (r)"},
		{"m allow c <=3% # r", "<=3%",
		 "m: 4.50 % (90 of 2000, 95 % interval 3.68 to 5.50 %) with cause c; allowed "
		 "<=3% (r)"},
		{"m.x allow c predicted, predicted.x =100% # r", "predicted", ""},
	};
	struct jp_metric metric = jp_metric_rate("m", 90, 2000);
	struct jp_exception exception = {.metric = "m", .cause = "c", .count = 90};
	struct jp_findings findings = {
		.metrics = &metric, .nr_metrics = 1, .exceptions = &exception, .nr_exceptions = 1};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		struct jp_cases *cases = parse_line(table[i].line, NULL);
		const struct jp_expectation *allow = cases ? cases->cases[0].expectations : NULL;
		char reason[512] = "", bound[80] = "";

		if (allow) {
			jp_expect_compare_with_bound(allow, &findings, reason, sizeof(reason));
			jp_expect_bound(allow, bound, sizeof(bound));
		}
		check(!strcmp(reason, table[i].reason) && !strcmp(bound, table[i].bound),
		      "'%s' has bound '%s' and reason '%s'", table[i].line, bound, reason);
		jp_cases_free(cases);
	}
}

TEST(missing_metric)
{
	struct jp_cases *cases = parse_line("broken.dump <=0.5%, unjudged any # because", NULL);
	char reason[512];

	check(jp_expect(&cases->cases[0].expectations[1], NULL, reason, sizeof(reason)) ==
			      JP_ERROR &&
		      strstr(reason, "unjudged: was not measured"),
	      "a missing metric is an error even if any value is allowed");
	jp_cases_free(cases);
}

TEST(bad_lines)
{
	static const struct {
		const char *text, *message;
	} table[] = {
		{"case a check : w : c\n\tm <5\n", "file:2: range '<5'"},
		{"case a check : w : c\n\tm =1e999\n", "file:2: range"},
		{"case a check : w : c\n\tm <=101%\n", "file:2: range"},
		{"case a check : w : c\n\tm 3..1\n", "file:2: range"},
		{"case a check : w : c\n\tm 3%..5\n", "file:2: range"},
		{"case a check : w : c\n\tm -1\n", "file:2: range"},
		{"case a check : w : c\n\tm\n", "file:2: expectation"},
		{"case a check : w : c\n\tm =0 x\n", "file:2: range"},
		{"case a check : w : c\n\tm =0\n\tm =1\n", "file:3: second expectation"},
		{"case a check : w : c\n\tbroken.dump allow x =1 # r\n",
		 "file:2: cause 'x'; expected one that jitproof explain --causes lists"},
		{"case a check : w : c\n\tm allow x\n", "file:2: allow 'x'; expected a reason"},
		{"case a check : w : c\n\tm allow x # r\n", "file:2: allow 'x'; expected a bound"},
		{"case a check : w : c\n\tm allow x 1 # r\n", "file:2: bound '1'"},
		{"case a check : w : c\n\tm allow x <=n/m # r\n", "file:2: bound '<=n/m'"},
		{"case a check : w : c\n\tm allow x =n # r\n", "file:2: bound '=n'"},
		{"case a check : w : c\n\tm allow x any # r\n", "file:2: bound 'any'"},
		{"case a check : w : c\n\tm allow x >=1 # r\n", "file:2: bound '>=1'"},
		{"case a check : w : c\n\tm allow x <=100% # r\n", "file:2: bound '<=100%'"},
		{"case a check : w : c\n\tm allow x 1..100% # r\n", "file:2: bound '1..100%'"},
		{"case a check : w : c\n\tm allow x <=1 <=2 # r\n", "file:2: expectation 'm'"},
		{"case a check : w : c\n\tm.x allow y predicted # r\n",
		 "file:2: predicted 'm.x'; expected predicted.METHOD =100%"},
		{"case a check : w : c\n\tpredicted.x >=99%\n\tm.x allow y predicted # r\n",
		 "file:3: predicted 'm.x'"},
		{"case a check : w : c\n\tpredicted.y =100%\n\tm.x allow y predicted # r\n",
		 "file:3: predicted 'm.x'"},
		{"case a check : w : c\n\twhen perf 6.1: predicted.x =100%\n"
		 "\tm.x allow y predicted # r\n",
		 "file:3: predicted 'm.x'"},
		{"case a check : w : c\n\tpredicted =100%\n\tm allow y predicted # r\n",
		 "file:3: predicted 'm'"},
		{"case a check : w : c\n\txfail\n", "file:2: line 'xfail'; expected a reason"},
		{"\tm =0\n", "file:1: indented line"},
		{"case a sometimes : w : c\n", "file:1: set 'sometimes'"},
		{"case a check : w\n", "file:1: case 'a'"},
		{"case a check : w : : samples=1\n", "file:1: case 'a'"},
		{"case ../a check : w : c\n", "file:1: case name"},
		{"case b/a check : w : c\n", "file:1: case name"},
		{"case a check : w : c : samples=0\n", "file:1: samples '0'"},
		{"case a check : w : c : samples=5x\n", "file:1: samples"},
		{"case a check : w : c : seconds=4000\n", "file:1: seconds"},
		{"case a check : w : c : control=a/b\n", "file:1: control 'a/b'"},
		{"case a check : w : c : at=before-open\n", "file:1: at"},
		{"case a check : w : c : at=:map\n", "file:1: at ':map'"},
		{"case a check : w : c : colour=red\n", "file:1: key 'colour'"},
		{"case a check : w : c : inject=\n", "file:1: inject ''"},
		{"case a check : w : c : inject=a/b\n", "file:1: inject 'a/b'"},
		{"case a check : w : c\n\tm 5..1\n", "file:2: range '5..1'"},
		{"case a check : w : c\n\twhen perf 6.1 m =0\n", "file:2: line 'when"},
		{"case a check : w : c\n\twhen perf: m =0\n", "file:2: scope"},
		{"case a check : w : c\n\twhen perf ..: m =0\n", "file:2: scope '..'"},
		{"case a check : w : c\n\twhen perf 6.1 7: m =0\n", "file:2: scope"},
		{"case a check : w : c\n\twhen perf 6.: m =0\n", "file:2: scope '6.'"},
		{"case a check : w : c\n\twhen perf six: m =0\n", "file:2: scope 'six'"},
		{"case a check : w : c\n\twhen perf 6.1: m =0, m =1\n", "file:2: second"},
		{"table t metric= | c\n", "file:1: metric"},
		{"table t metric=a:b | c\n", "file:1: metric 'a'"},
		{"table t | c\nrow a | impossible\n", "file:2: cell 'impossible'"},
		{"table t | c\nrow a | b:\n", "file:2: cell 'b'; expected a rule"},
		{"case a check : w : c : samples\n", "file:1: word 'samples'"},
		{"\n\nchase a\n", "file:3: word"},
		{"row a | b\n", "file:1: row"},
		{"table t | c | d\nrow a | b\n", "file:2: row 'a'; expected as many cases"},
		{"table t\n", "file:1: table"},
		{"table t | c\ntable u | c | d\n", "file:2: table 'u'; expected as many columns"},
		{"table t | c:\n", "file:1: column 'c'; expected a rule"},
		{"axis x\n", "file:1: axis 'x'"},
		{"axis x a a\n", "file:1: second value 'a'"},
		{"axis x a\naxis x b\n", "file:2: second axis 'x'"},
		{"axis x a/b\n", "file:1: value 'a/b'"},
		{"case {x} check : w : c\n", "file:1: placeholder '{x}"},
		{"axis x a\ncase {x check : w : c\n", "file:2: placeholder"},
		{"axis x a\ncase {x:b} check : w : c\n", "file:2: values 'b"},
		{"axis x a\ncase {x:} check : w : c\n", "file:2: values"},
		{"axis x a\ncase {x!a} check : w : c\n", "file:2: axis 'x'; expected at least one"},
		{"axis x a\ncase {x}.{x:a} check : w : c\n", "file:2: values"},
		{"axis x a\ncase a check : w : c\n\tm =0 # {x}\n", "file:3: placeholder '{x}"},
		{"axis x a\ncase a check : w : c\n\twhere x=a: m =0\n", "file:3: condition 'x=a'"},
		{"axis x a\ncase {x} check : w : c\n\twhere x=b: m =0\n", "file:3: values 'b'"},
		{"axis x a\ncase {x} check : w : c\n\twhere y=a: m =0\n",
		 "file:3: condition 'y=a'"},
		{"axis x a\ncase {x} check : w : c\n\twhere x=a m =0\n", "file:3: line 'where"},
		{"case a check : w : c\n\talso x\n", "file:2: also 'x'"},
		{"expect x\n\talso x\ncase a check : w : c\n\talso x\n", "file:2: also 'x'"},
		{"expect x\nexpect x\n\n", "file:2: second expect 'x'"},
		{"expect a/b\n\tm =0\n", "file:1: expect 'a/b'"},
		{"expect x\n\tm =\ncase a check : w : c\n\talso x\n", "file:2: range '='"},
		{"defaults : w : c\n\tm =0\ncase a check\n\tm =1\n", "file:4: second expectation"},
		{"case a check : w : c\n\tm =0\n\t...\n", "file:"},
		{"case a check : w : c\n\t...\n", "file:2: expectation '...'"},
		{"defaults : w : c\n\t...\n\t...\ncase a check\n", "file:3: expectation '...'"},
		{"defaults x\ncase a check : w : c\n", "file:1: defaults 'x'"},
		{"defaults : w : c\ndefaults\ncase a check\n", "file:3: case 'a'"},
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		check_refusal(table[i].text, table[i].message);
}

TEST(good_file)
{
	static const char text[] =
		"# comment\n"
		"case one check : anon_exec --depth=3 : attach --synth=exec : samples=7 seconds=9 "
		"control=window at=within-snapshot:map=4096\n"
		"\tbroken.dump <=0.5%, unjudged <=2% # why so\n"
		"\n"
		"\tbroken.chain allow max-stack <=50% # it is deep\n"
		"case two full : w : c\n"
		"table Title of it | left | right\n"
		"row a label | one | -\n"
		"table Names metric=a.b:some/none,c.d | left | right\n"
		"row a label | one: a rule | impossible: another\n"
		"case three full : w : c : publish=jitdump:zero-tail inject=cut\n"
		"\twhen perf 6.1..6.12: broken.chain allow max-stack <=2, m =1 # then\n"
		"\tm =0\n";
	struct jp_error err = {""};
	struct jp_cases *cases = parse_study(text, &err), *reread;
	struct jp_exception exception = {.metric = "broken.chain", .cause = "max-stack"};
	const struct jp_case *cas, *third_case;
	struct jp_case fewer;
	const struct jp_table *names;

	if (!check(cases && cases->nr_cases == 3 && cases->nr_tables == 2,
		   "a file of cases is read %s", err.text))
		return;
	cas = &cases->cases[0];
	check(!strcmp(cas->name, "study/one") && cas->check && cas->samples == 7 &&
		      cas->seconds == 9 && !strcmp(cas->control, "window") &&
		      !strcmp(cas->step.boundary, "within-snapshot") &&
		      !strcmp(cas->step.command, "map 4096") && cas->nr_expectations == 3,
	      "keys and expectations are read");
	check(cas->workload_argc == 2 && !strcmp(cas->workload_argv[1], "--depth=3") &&
		      !cas->workload_argv[2] && !strcmp(cas->capture_argv[1], "--synth=exec"),
	      "words of workload and capture are read");
	check(!strcmp(cas->expectations[1].reason, "why so"),
	      "a reason applies to each expectation of its line");
	check(jp_expect_find_allowance(cas, 0, &exception), "an allowed cause is allowed");
	fewer = *cas;
	while (fewer.nr_expectations && !fewer.expectations[fewer.nr_expectations - 1].allow[0])
		fewer.nr_expectations--;
	fewer.nr_expectations--;
	check(!jp_expect_find_allowance(&fewer, 0, &exception),
	      "without the line it is not allowed");
	exception.cause = "short";
	check(!jp_expect_find_allowance(cas, 0, &exception), "another cause is not allowed");
	exception.cause = "max-stack";
	strcpy(exception.metric, "broken.dump");
	check(!jp_expect_find_allowance(cas, 0, &exception),
	      "a cause of another metric is not allowed");
	reread = parse_case("case a/b check : w : c\n\tbroken.chain allow depth-limit =1 # r\n",
			    &err);
	strcpy(exception.metric, "broken.chain");
	check(reread && jp_expect_find_allowance(&reread->cases[0], 0, &exception),
	      "a cause's id allows the validators' words for it %s", err.text);
	exception.cause = "dump-end";
	check(reread && !jp_expect_find_allowance(&reread->cases[0], 0, &exception),
	      "a cause's id allows no other word");
	jp_cases_free(reread);
	check(!cases->cases[1].check && cases->cases[1].samples == 2000, "defaults are set");
	check(!strcmp(cases->tables[0].rows[0].cells[0].name, "study/one") &&
		      !strcmp(cases->tables[0].rows[0].cells[1].name, "-") &&
		      !cases->tables[0].nr_metrics,
	      "rows have full names of cases");
	names = &cases->tables[1];
	check(!strcmp(names->title, "Names") && names->nr_metrics == 2 &&
		      !strcmp(names->metrics[0].name, "a.b") &&
		      !strcmp(names->metrics[0].some, "some") &&
		      !strcmp(names->metrics[0].none, "none") &&
		      !strcmp(names->metrics[1].name, "c.d") && !names->metrics[1].some,
	      "a table's own metrics are read");
	check(!strcmp(names->rows[0].cells[0].name, "study/one") &&
		      !strcmp(names->rows[0].cells[0].rule, "a rule") &&
		      !strcmp(names->rows[0].cells[1].name, "impossible") &&
		      !strcmp(names->rows[0].cells[1].rule, "another"),
	      "cells with rules are read");
	third_case = &cases->cases[2];
	check(!cas->publish && !cas->inject && !strcmp(third_case->publish, "jitdump:zero-tail") &&
		      !strcmp(third_case->inject, "cut"),
	      "publish and inject are read");
	exception.cause = "max-stack";
	strcpy(exception.metric, "broken.chain");
	check(jp_expect_scopes(third_case, "{\"tools\": {\"perf\": \"6.1.170\"}}") == 0 &&
		      jp_expect_find_allowance(third_case, 0, &exception),
	      "a scope that holds is used");
	check(jp_expect_scopes(third_case, "{\"tools\": {\"perf\": \"7.2\"}}") == 3 &&
		      !jp_expect_find_allowance(third_case, 3, &exception),
	      "a scope that does not hold is not used");
	reread = parse_case(cas->text, &err);
	check(reread && reread->nr_cases == 1 && !strcmp(reread->cases[0].name, "study/one") &&
		      !strcmp(reread->cases[0].study, "study") &&
		      reread->cases[0].nr_expectations == 3 &&
		      !strcmp(reread->cases[0].text, cas->text),
	      "parsing a case's own text gives the same case %s", err.text);
	jp_cases_free(reread);
	reread = parse_case("case a/b check : w : c\n\tm allow x # r\n", &err);
	check(reread && reread->nr_cases == 1, "a run recorded without bounds is read %s",
	      err.text);
	jp_cases_free(reread);
	jp_cases_free(cases);
}

static struct jp_cases *parse_valid(const char *text)
{
	struct jp_error err = {""};
	struct jp_cases *cases = parse_study(text, &err);

	check(cases, "the file is accepted %s", err.text);
	return cases;
}

TEST(variants)
{
	static const char *const texts[] = {
		"case study/first.a check : other : attach : samples=5 seconds=7\n"
		"\tm =0 # why\n\tn =1\n\tlast any\n",
		"case study/a.u.one full : w --x=a --y=u : attach --z : samples=9 seconds=7\n"
		"\tm =0 # why\n\twhen perf 6.1: k =1\n\to allow c <=5 # a\n\tp <=2\n\tlast any\n",
		"case study/b.u.one full : w --x=b --y=u : attach --z : samples=9 seconds=7\n"
		"\tm =0 # why\n\to allow c <=5 # b\n\tlast any\n",
		"case study/b.v.one full : w --x=b --y=v : attach --z : samples=9 seconds=7\n"
		"\tm =0 # why\n\tq any\n\to allow c <=5 # b\n\tlast any\n",
	};
	struct jp_cases *cases =
		parse_valid("axis x a b c\n"
			    "axis y u v\n"
			    "expect named\n"
			    "\to allow c <=5 # {x}\n"
			    "\twhere x=a: p <=2\n"
			    "defaults : w : attach : samples=5 seconds=7\n"
			    "\tm =0 # why\n"
			    "\t...\n"
			    "\tlast any\n"
			    "case first.a check : other\n"
			    "\tn =1\n"
			    "case a.v.one full : hand : written\n"
			    "case {x:a,b}.{y}.one full : w --x={x} --y={y} : attach --z "
			    ": samples=9\n"
			    "\twhere x=b,c y=v: q any\n"
			    "\twhere x=a y=u: when perf 6.1: k =1\n"
			    "\talso named\n"
			    "defaults\n"
			    "case last check : w : c\n"
			    "case {x!b,c}.two full : w : c\n");

	if (!cases || !check(cases->nr_cases == 7, "%zu cases are made", cases->nr_cases))
		return;
	for (size_t i = 0; i < 4; i++) {
		const struct jp_case *cas = &cases->cases[i + (i > 0)];

		check(!strcmp(cas->text, texts[i]), "the text of %s is complete", cas->name);
	}
	check(!strcmp(cases->cases[1].workload_argv[0], "hand") && cases->cases[2].line == 13,
	      "a case written out replaces a variant");
	check(cases->cases[2].nr_expectations == 5 && cases->cases[3].nr_expectations == 3 &&
		      cases->cases[4].nr_expectations == 4,
	      "expectations of some variants are selected");
	check(cases->cases[5].nr_expectations == 0 && cases->cases[5].samples == 2000 &&
		      !strcmp(cases->cases[6].name, "study/a.two"),
	      "defaults can be ended");
	for (size_t i = 0; i < cases->nr_cases; i++) {
		const struct jp_case *cas = &cases->cases[i];
		struct jp_cases *reread = parse_case(cas->text, NULL);

		check(reread && reread->nr_cases == 1 &&
			      !strcmp(reread->cases[0].text, cas->text) &&
			      reread->cases[0].nr_expectations == cas->nr_expectations,
		      "%s: parsing its text gives the same case", cas->name);
		jp_cases_free(reread);
	}
	jp_cases_free(cases);
}

/* Few lines can make many cases, up to a limit; a case's own file contains one case. */
TEST(limits)
{
	static const char axes[] = "axis x 0 1 2 3 4 5 6 7 8 9 a b c d e f\n";
	static const struct {
		const char *text, *message;
	} table[] = {
		{"axis y 0 1 2 3 4 5 6 7 8 9 a b c d e f\naxis z 0 1 2 3 4 5 6 7 8 9 a b c d e f\n"
		 "axis v 0 1\ncase {x}{y}{z}{v} check : w : c\n",
		 "file:5: line"},
		{"axis y 0\naxis z 0\naxis v 0\naxis u 0\ncase {x}{y}{z}{v}{u} check : w : c\n",
		 "file:6: axis 'u'; expected at most 4"},
	};
	struct jp_error err = {""};
	struct jp_cases *cases;
	char text[512], *large;
	FILE *out;
	size_t size;

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		snprintf(text, sizeof(text), "%s%s", axes, table[i].text);
		check_refusal(text, table[i].message);
	}
	snprintf(text, sizeof(text), "%scase a/{x} check : w : c\n", axes);
	for (const char *pos = text; pos; pos = pos == text ? strchr(text, '\n') + 1 : NULL) {
		cases = parse_case(pos, &err);
		check(!cases && !strncmp(err.text, "case:1: ", 8),
		      "axes in a case's own file are refused: %s", err.text);
		jp_cases_free(cases);
	}
	out = open_memstream(&large, &size);
	fputs("case a check : w : c\n", out);
	for (int i = 0; i < 100; i++)
		fprintf(out, "\txfail # %01000d\n", i);
	fclose(out);
	cases = parse_study(large, &err);
	check(!cases && strstr(err.text, "at most 65536 bytes"),
	      "a too long definition is refused: %s", err.text);
	jp_cases_free(cases);
	free(large);
}

TEST(scopes)
{
	static const char environment[] =
		"{\"kernel\": \"6.18.3-fc\", \"machine\": \"aarch64\", \"no\": [1, {\"perf\": "
		"\"1\"}, \"]\"], \"n\": null,\n"
		" \"tools\": {\"libc\": \"2.36\", \"perf\": \"perf version 6.1.170\"}}";
	static const struct {
		const char *tool, *range;
		bool applies;
	} table[] = {
		{"perf", "6.1", true},           {"perf", "6.1.170", true},
		{"perf", "6.1.171", false},      {"perf", "6.1..6.12", true},
		{"perf", "5.10..6.1", true},     {"perf", "5.10..6.0", false},
		{"perf", "6.2..6.12", false},    {"perf", "6.10..", false},
		{"perf", "..6.1.169", false},    {"perf", "..6.1.170", true},
		{"perf", "6..", true},           {"kernel", "6.6..", true},
		{"kernel", "..6.5", false},      {"kernel", "6.18.3", true},
		{"libc", "2.36..2.36", true},    {"samply", "0..", false},
		{"kernel", "6.18.3.1..", false}, {"aarch64", "6.18..", true},
		{"aarch64", "..6.17", false},    {"x86_64", "6.18..", false},
	};
	struct jp_scope scope = {0};

	check(jp_scope_holds(&scope, NULL), "without a scope an expectation holds everywhere");
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		check(jp_scope_parse(table[i].tool, table[i].range, &scope) &&
			      jp_scope_holds(&scope, environment) == table[i].applies,
		      "scope %s %s holds: %s", table[i].tool, table[i].range,
		      table[i].applies ? "yes" : "no");
	check(!jp_scope_holds(&scope, NULL), "without env.json no scope holds");
	jp_scope_parse("qemu", "1..", &scope);
	check(!jp_scope_holds(&scope, environment), "without a CPU the scope qemu does not hold");
	check(!jp_scope_holds(&scope, "{\"cpu\": \"Intel(R) Xeon(R) Processor 2.5\"}"),
	      "on a real CPU the scope qemu does not hold");
	check(jp_scope_holds(&scope, "{\"cpu\": \"QEMU Virtual CPU version 2.5+\"}"),
	      "on QEMU's CPU the scope qemu holds");
	/* Truncate env.json at each byte: nothing beyond may be read. */
	jp_scope_parse("perf", "6.1", &scope);
	for (size_t i = 0; i < sizeof(environment); i++) {
		char *copy = strndup(environment, i);

		if (jp_scope_holds(&scope, copy) && i < sizeof(environment) - 3)
			check(false, "a scope does not hold for %zu bytes of env.json", i);
		free(copy);
	}
}
