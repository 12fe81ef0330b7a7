// SPDX-License-Identifier: GPL-2.0-only
/* Excuses: which case has them, for which exceptions, and within which bounds. */
#include "harness/base/excuse.h"
#include "harness/base/registry.h"
#include "harness/outcome/excuse.h"
#include "harness/selftest/support/check.h"
#include "workloads/emit/workload.h"

static const struct jp_excuse made[] = {
	{"made.always", NULL, "made.a made.b*", "gone", "made.most", "a limit"},
	{"made.value", "--made=?* !inject=*", "made.value", "*", NULL, "a value"},
	{"made.fault", "publish=map:made", "made.fault", "one two", NULL, "a fault"},
	{"made.method", NULL, "made.chain", "end", "predicted", "a method"},
};
JP_REGISTER_ROWS(excuse, made);

static const struct jp_workload made_workload = {.name = "w"};
JP_REGISTER(workload, made_workload);

static char *workload[] = {"w", "--made=3", NULL};
static char *unknown[] = {"workload", "--made=3", NULL};
static char *capture[] = {"launch", NULL};

static const struct jp_expectation *find(const struct jp_case *cas, const char *metric,
					 const char *cause, const struct jp_findings *findings)
{
	struct jp_exception exception = {.cause = cause, .count = 1};

	snprintf(exception.metric, sizeof(exception.metric), "%s", metric);
	return jp_excuse_find(cas, findings, &exception);
}

static void test_values(void)
{
	const struct jp_findings none = {0};
	struct jp_case cas = {
		.workload_argv = workload, .capture_argv = capture, .publish = "map:made"};
	const struct jp_expectation *allow = find(&cas, "made.a", "gone", &none);

	check(allow && !strcmp(allow->most, "made.most") && !strcmp(allow->reason, "a limit"),
	      "a limit of every case has its bound and its reason");
	check(find(&cas, "made.bc", "gone", &none), "metrics are patterns");
	check(!find(&cas, "made.a", "other", &none), "another cause has no excuse");
	check(!find(&cas, "made.ab", "gone", &none), "another metric has no excuse");
	check(find(&cas, "made.value", "any", &none), "an option excuses");
	check(find(&cas, "made.fault", "two", &none), "a fault excuses");
	cas.workload_argv = unknown;
	check(!find(&cas, "made.a", "gone", &none), "an unknown workload has no excuse");
	cas.workload_argv = workload;
	cas.publish = "map";
	check(!find(&cas, "made.fault", "two", &none), "without the fault there is no excuse");
	cas.inject = "cut";
	check(!find(&cas, "made.value", "any", &none), "a word that the case must not have counts");
	cas.control = "made";
	check(!find(&cas, "made.a", "gone", &none), "a control has no excuse");
}

static void test_predicted(void)
{
	const struct jp_case cas = {.workload_argv = workload, .capture_argv = capture};
	struct jp_findings findings = {0};

	check(!find(&cas, "made.chain", "end", &findings), "what was not predicted has no excuse");
	jp_findings_add_rate(&findings, "predicted.chain", 9, 10);
	check(!find(&cas, "made.chain", "end", &findings), "nor with an unpredicted sample");
	findings.metrics[0].k = 10;
	check(find(&cas, "made.chain", "end", &findings), "it has one if each was predicted");
	jp_findings_free(&findings);
}

int main(void)
{
	test_values();
	test_predicted();
	return check_done();
}
