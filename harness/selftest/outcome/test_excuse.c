// SPDX-License-Identifier: GPL-2.0-only
/* Excuses: which case has them, for which exceptions, and within which bounds. */
#include "harness/base/excuse.h"
#include "harness/base/registry.h"
#include "harness/outcome/excuse.h"
#include "harness/outcome/expect.h"
#include "harness/selftest/support/check.h"
#include "workloads/emit/workload.h"

static const struct jp_excuse made[] = {
	{"made.always", NULL, "made.a made.b*", "gone", "made.most", "a limit"},
	{"made.value", "--made=?* !inject=*", "made.value", "*", NULL, "a value"},
	{"made.fault", "publish=map:made", "made.fault", "one two", NULL, "a fault"},
	{"made.step", "at=move*", "made.step", "*", NULL, "a step"},
	{"made.inject", "inject=tool -B", "made.inject", "*", NULL, "an option of an inject"},
	{"made.wide", "inject=tool -B", "made.a", "gone", NULL, "without a bound"},
	{"made.method", NULL, "made.share", "end", "predicted", "a method"},
	{"made.other-tables", NULL, "made.share", "end", "other-tables", "tables of other code"},
	{"made.share", NULL, "made.share", "lost", "2/3", "a share"},
	{"made.half", "publish=map:half", "made.share", "part", "1/2", "half of them"},
	{"made.killed", NULL, "made.share", "torn", "killed", "of killed processes"},
	{"made.forked", NULL, "made.share", "nested", "forked", "of forked images"},
	{"made.replaced", NULL, "made.share", "old two", "replaced", "of older images"},
	{"made.shared", NULL, "made.share", "two", "shared", "of shared memory"},
};
JP_REGISTER_ROWS(excuse, made);

JP_DEFINE(workload, made_workload) = {.name = "w"};

static char *workload[] = {"w", "--made=3", NULL};
static char *unknown[] = {"workload", "--made=3", NULL};
static char *capture[] = {"launch", NULL};
static char *inject_with[] = {"-B", NULL};

static const struct jp_expectation *find(const struct jp_case *cas, const char *metric,
					 const char *cause, const struct jp_findings *findings)
{
	struct jp_exception exception = {.cause = cause, .count = 1};

	snprintf(exception.metric, sizeof(exception.metric), "%s", metric);
	return jp_excuse_find(cas, findings, &exception);
}

TEST(excuses_by_values)
{
	const struct jp_findings no_findings = {0};
	struct jp_case cas = {
		.workload_argv = workload, .capture_argv = capture, .publish = "map:made"};
	const struct jp_expectation *allow = find(&cas, "made.a", "gone", &no_findings);

	check(allow && !strcmp(allow->limit, "made.most") && !strcmp(allow->reason, "a limit"),
	      "a limit of every case has its bound and its reason");
	check(find(&cas, "made.bc", "gone", &no_findings), "metrics are patterns");
	check(!find(&cas, "made.a", "other", &no_findings), "another cause has no excuse");
	check(!find(&cas, "made.ab", "gone", &no_findings), "another metric has no excuse");
	check(find(&cas, "made.value", "any", &no_findings), "an option excuses");
	check(find(&cas, "made.fault", "two", &no_findings), "a fault excuses");
	cas.step.command = "move 3";
	check(find(&cas, "made.step", "any", &no_findings), "a step excuses");
	cas.step.command = "remove";
	check(!find(&cas, "made.step", "any", &no_findings), "another step does not");
	cas.workload_argv = unknown;
	check(!find(&cas, "made.a", "gone", &no_findings), "an unknown workload has no excuse");
	cas.workload_argv = workload;
	cas.publish = "map";
	check(!find(&cas, "made.fault", "two", &no_findings),
	      "without the fault there is no excuse");
	cas.inject = "cut";
	check(!find(&cas, "made.value", "any", &no_findings),
	      "a word that the case must not have counts");
	cas.inject = "tool";
	check(!find(&cas, "made.inject", "any", &no_findings),
	      "the profiler alone is not its option");
	cas.inject_with = inject_with;
	check(find(&cas, "made.inject", "any", &no_findings), "an option of an inject excuses");
	allow = find(&cas, "made.a", "gone", &no_findings);
	check(allow && !strcmp(allow->reason, "without a bound"),
	      "of two excuses the one without a bound counts");
	cas.control = "made";
	check(!find(&cas, "made.a", "gone", &no_findings), "a control has no excuse");
}

/* Returns the outcome of a case in which @count of @total are lost. */
static enum jp_outcome judge_share(uint64_t count, uint64_t total)
{
	const struct jp_case cas = {.workload_argv = workload, .capture_argv = capture};
	struct jp_findings findings = {0};
	enum jp_outcome outcome;
	char reason[400];

	jp_findings_add_rate(&findings, "made.share", count, total);
	for (uint64_t i = 0; i < count; i++)
		jp_findings_count_failure(&findings, "made.share", "lost", "one");
	outcome = jp_expect_compare_with_bound(find(&cas, "made.share", "lost", &findings),
					       &findings, reason, sizeof(reason));
	jp_findings_free(&findings);
	return outcome;
}

TEST(excused_share)
{
	check(judge_share(4, 6) == JP_PASS, "4 are two thirds of 6");
	check(judge_share(5, 6) == JP_FAIL, "5 of 6 are more");
	check(judge_share(5, 8) == JP_PASS && judge_share(6, 8) == JP_FAIL,
	      "a part of one is none");
}

/* Returns the outcome of a case in which 10 of 20 are gone for @cause, as @exception states. The
 * launched process publishes as @launched, forked processes as @children. */
static enum jp_outcome judge_published(struct jp_exception exception, const char *cause,
				       const char *launched, const char *children)
{
	char option[60], *words[] = {"w", option, NULL};
	const struct jp_case cas = {
		.workload_argv = words, .capture_argv = capture, .publish = launched};
	struct jp_findings findings = {0};
	enum jp_outcome outcome = JP_FAIL;
	const struct jp_expectation *allow;
	char reason[400];

	snprintf(option, sizeof(option), "--publish-children=%s", children);
	jp_findings_add_rate(&findings, "made.share", 10, 20);
	for (int i = 0; i < 10; i++)
		jp_findings_count_failure(&findings, "made.share", cause, "one");
	exception.cause = cause;
	exception.count = 10;
	snprintf(exception.metric, sizeof(exception.metric), "made.share");
	allow = jp_excuse_find(&cas, &findings, &exception);
	if (allow)
		outcome = jp_expect_compare_with_bound(allow, &findings, reason, sizeof(reason));
	jp_findings_free(&findings);
	return outcome;
}

static enum jp_outcome judge_images(struct jp_exception exception, const char *cause,
				    const char *children)
{
	return judge_published(exception, cause, "map", children);
}

TEST(images)
{
	const struct jp_exception anywhere = {0}, later_exception = {.in_later = 10},
				  some = {.in_first = 1, .in_later = 9},
				  passed_on = {.inherited = 10},
				  killed = {.in_later = 10, .in_killed = 10},
				  alive = {.in_later = 10, .in_killed = 9},
				  older = {.in_later = 10, .replaced = 10},
				  last = {.in_later = 10, .replaced = 9},
				  predicted = {.nr_predicted = 10}, strayed = {.nr_predicted = 9},
				  nr_other_tables = {.nr_predicted = 4, .nr_other_tables = 6},
				  both = {.in_first = 5, .in_later = 5, .shared = 10},
				  visible = {.in_later = 10, .shared = 10},
				  own = {.in_first = 5, .in_later = 5, .shared = 9},
				  some_shared = {
					  .in_first = 5, .in_later = 5, .shared = 4, .replaced = 5};

	check(judge_images(anywhere, "part", "map:half") == JP_PASS &&
		      judge_images(later_exception, "part", "map:half") == JP_PASS &&
		      judge_images(passed_on, "part", "map:half") == JP_PASS,
	      "a fault of forked processes excuses what they lack");
	check(judge_images(some, "part", "map:half") == JP_FAIL,
	      "it does not excuse the first process");
	check(judge_images(later_exception, "part", "map") == JP_FAIL,
	      "without the fault nothing is excused");
	check(judge_published(later_exception, "part", "map:half", "map") == JP_FAIL &&
		      judge_published(visible, "part", "map:half", "map") == JP_PASS,
	      "a fault of the launched process excuses code in its address space alone");
	check(judge_images(killed, "torn", "map") == JP_PASS, "killed processes may lack it");
	check(judge_images(alive, "torn", "map") == JP_FAIL, "another process may not");
	check(judge_images(later_exception, "nested", "map") == JP_PASS &&
		      judge_images(some, "nested", "map") == JP_FAIL,
	      "forked images have an excuse, the launched one has none");
	check(judge_images(older, "old", "map") == JP_PASS &&
		      judge_images(last, "old", "map") == JP_FAIL,
	      "older images of a pid have an excuse, the last one has none");
	check(judge_images(predicted, "end", "map") == JP_PASS &&
		      judge_images(strayed, "end", "map") == JP_FAIL,
	      "stacks as the truth predicts have an excuse, other stacks have none");
	check(judge_images(nr_other_tables, "end", "map") == JP_PASS,
	      "so have stacks that contain code with the tables of other code");
	check(judge_images(both, "two", "map") == JP_PASS &&
		      judge_images(own, "two", "map") == JP_FAIL,
	      "code that two processes see has an excuse, a process's own has none");
	check(judge_images(some_shared, "two", "map") == JP_FAIL,
	      "two excuses excuse no more than their sum");
	check(!find(&(struct jp_case){.workload_argv = workload, .capture_argv = capture},
		    "made.share", "two", &(struct jp_findings){0}),
	      "an excuse that permits none is none");
}
