// SPDX-License-Identifier: GPL-2.0-only
#include "harness/outcome/checks.h"

#include <inttypes.h>
#include <string.h>

static bool is_listed(const struct jp_findings *findings, const struct jp_exception *exception)
{
	for (size_t i = 0; i < findings->nr_exceptions; i++)
		if (strcmp(findings->exceptions[i].metric, exception->metric) == 0 &&
		    strcmp(findings->exceptions[i].cause, exception->cause) == 0)
			return true;
	return false;
}

/* Checks that the capture has no faults after what the control left out was added back.
 * @control_findings: the findings about this capture. */
static void check_added_back(const struct jp_findings *control_findings, struct jp_result *result)
{
	if (*control_findings->error) {
		jp_note(result, JP_ERROR, "%s", control_findings->error);
		return;
	}
	for (size_t i = 0; i < control_findings->nr_exceptions; i++) {
		const struct jp_exception *missing = &control_findings->exceptions[i];
		bool is_new = !is_listed(&result->findings, missing);

		/* Exceptions that the capture also has without the added data are listed already.
		 * Describe a new one here. */
		jp_note(result, JP_FAIL,
			"%s: after the left-out data was added back, %" PRIu64
			" exceptions remain with cause %s%s%s",
			missing->metric, missing->count, missing->cause, is_new ? ": " : "",
			is_new ? missing->example : "");
	}
	for (size_t i = 0; i < control_findings->nr_metrics; i++) {
		const struct jp_metric *metric = &control_findings->metrics[i];
		const struct jp_metric *before =
			jp_findings_find_metric(&result->findings, metric->name);

		if (metric->role && metric->role->fault && metric->k)
			jp_note(result, JP_FAIL,
				"%s: after the left-out data was added back, %" PRIu64 " "
				"exceptions remain",
				metric->name, metric->k);
		/* Without judged samples, the absence of faults proves nothing. */
		if (metric->role && metric->role->steady && (!before || metric->k < before->k))
			jp_note(result, JP_FAIL,
				"%s: after the left-out data was added back, %" PRIu64
				" samples are judged, %" PRIu64 " before",
				metric->name, metric->k, before ? before->k : 0);
	}
}

void jp_check_control(const struct jp_findings *control_findings, struct jp_result *result)
{
	const char *cause = result->cas->control;
	const struct jp_findings *findings = &result->findings;
	uint64_t nr_caught = 0;

	for (size_t i = 0; i < findings->nr_exceptions; i++) {
		const struct jp_exception *exception = &findings->exceptions[i];

		if (strcmp(exception->cause, cause) == 0)
			nr_caught += exception->count;
		else
			jp_note(result, JP_FAIL,
				"%s: %" PRIu64 " with cause %s; this control allows only cause %s",
				exception->metric, exception->count, exception->cause, cause);
	}
	if (!nr_caught)
		jp_note(result, JP_FAIL, "not caught: no exception has the cause %s", cause);
	check_added_back(control_findings, result);
	if (result->outcome == JP_PASS)
		jp_note(result, JP_PASS,
			"caught: %" PRIu64 " exceptions, all of cause %s; after adding back: 0 "
			"broken stacks, 0 exceptions",
			nr_caught, cause);
}
