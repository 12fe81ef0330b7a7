// SPDX-License-Identifier: GPL-2.0-only
#include "harness/outcome/checks.h"

#include <stdio.h>
#include <string.h>

#include "harness/base/cleanup.h"
#include "harness/format/rundir/run_dir.h"
#include "harness/outcome/excuse.h"
#include "harness/outcome/expect.h"

/* Returns the `allow` line or excuse of @cas for @exception, or NULL. */
static const struct jp_expectation *find_allowance(const struct jp_case *cas, uint64_t out_of_scope,
						   const struct jp_exception *exception)
{
	const struct jp_findings no_findings = {0};

	for (size_t i = 0; i < cas->nr_expectations; i++) {
		const struct jp_expectation *allow = &cas->expectations[i];

		if (!(out_of_scope >> i & 1) && strcmp(allow->allow, exception->cause) == 0 &&
		    strcmp(allow->metric, exception->metric) == 0)
			return allow;
	}
	return jp_excuse_find(cas, &no_findings, exception);
}

/* Judges a crash. @words: "VERB SIGNAL WHY", as jp_profiler_has_crashed() writes it. */
static void judge_crash(const char *dir, char *words, struct jp_result *result)
{
	char *tail = words, *verb = strsep(&tail, " "), *signal = strsep(&tail, " ");
	jp_cleanup_free char *environment = NULL;
	struct jp_exception exception = {.cause = "tool-crash", .count = 1};
	const struct jp_expectation *allow;
	size_t size;

	result->outcome = JP_ERROR;
	if (!tail) {
		snprintf(result->reasons, sizeof(result->reasons),
			 "%s/crash: expected an action, a signal, 'refused' or '-', and a message",
			 dir);
		return;
	}
	snprintf(result->reasons, sizeof(result->reasons), "%s", tail);
	if (strcmp(signal, "refused") == 0) {
		exception.cause = "refused";
	} else if (strcmp(signal, "-") != 0) {
		result->outcome = JP_CRASH;
		snprintf(result->crashed, sizeof(result->crashed), "%s", signal);
	}
	environment = jp_run_dir_read(dir, "env.json", &size);
	result->out_of_scope = jp_expect_scopes(result->cas, environment);
	snprintf(exception.metric, sizeof(exception.metric), "%s", verb);
	allow = find_allowance(result->cas, result->out_of_scope, &exception);
	if (!allow)
		return;
	result->outcome = JP_XFAIL;
	jp_note(result, JP_XFAIL, "expected to fail: %s", allow->reason);
}

bool jp_check_crash(const char *dir, struct jp_result *result)
{
	size_t size;
	jp_cleanup_free char *words = jp_run_dir_read(dir, "crash", &size);

	if (words)
		judge_crash(dir, words, result);
	return words;
}
