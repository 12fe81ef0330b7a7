// SPDX-License-Identifier: GPL-2.0-only
#include "harness/outcome/checks.h"

#include <stdio.h>
#include <string.h>

#include "harness/base/cleanup.h"
#include "harness/format/rundir/run_dir.h"
#include "harness/outcome/expect.h"

/* Judges a crash. @words: "VERB SIGNAL WHY", as jp_profiler_crashed() writes it. */
static void judge_crash(const char *dir, char *words, struct jp_result *result)
{
	char *rest = words, *verb = strsep(&rest, " "), *signal = strsep(&rest, " ");
	jp_cleanup_free char *environment = NULL;
	const struct jp_case *cas = result->cas;
	size_t size;

	result->outcome = JP_ERROR;
	if (!rest) {
		snprintf(result->why, sizeof(result->why),
			 "%s/crash: expected what was done, a signal or '-', and words", dir);
		return;
	}
	snprintf(result->why, sizeof(result->why), "%s", rest);
	if (strcmp(signal, "-") != 0) {
		result->outcome = JP_CRASH;
		snprintf(result->crashed, sizeof(result->crashed), "%s", signal);
	}
	environment = jp_run_dir_read(dir, "env.json", &size);
	result->out_of_scope = jp_expect_scopes(cas, environment);
	for (size_t i = 0; i < cas->nr_expectations; i++) {
		const struct jp_expectation *allow = &cas->expectations[i];

		if (result->out_of_scope >> i & 1 || strcmp(allow->allow, "tool-crash") != 0 ||
		    strcmp(allow->metric, verb) != 0)
			continue;
		result->outcome = JP_XFAIL;
		jp_note(result, JP_XFAIL, "expected to fail: %s", allow->reason);
		return;
	}
}

bool jp_check_crash(const char *dir, struct jp_result *result)
{
	size_t size;
	jp_cleanup_free char *words = jp_run_dir_read(dir, "crash", &size);

	if (words)
		judge_crash(dir, words, result);
	return words;
}
