// SPDX-License-Identifier: GPL-2.0-only
/* judge --truth: a workload that any profiler has watched, without a runner. */
#include "harness/command/judge_truth.h"

#include <stdio.h>
#include <string.h>

#include "harness/base/exits.h"
#include "harness/command/truth_request.h"
#include "harness/outcome/case_folder.h"
#include "harness/outcome/expect.h"
#include "harness/report/ktap.h"
#include "harness/report/results.h"

static void print_notes(FILE *out, char *notes)
{
	for (char *next = NULL, *line = strtok_r(notes, "\n", &next); line;
	     line = strtok_r(NULL, "\n", &next))
		fprintf(out, "# note: %s\n", line);
}

static void print_figures(const struct jp_findings *findings)
{
	for (size_t i = 0; i < findings->nr_metrics; i++) {
		char figure[160];

		if (findings->metrics[i].k || findings->metrics[i].n)
			printf("# %s: %s\n", findings->metrics[i].name,
			       jp_expect_figure(&findings->metrics[i], figure, sizeof(figure)));
	}
}

/* The exit status. */
static int judge_folder(struct jp_truth_request *request, const char *dir, struct jp_error *err)
{
	static struct jp_result result;
	struct jp_cases *cases = jp_case_folder_definition(dir, err);
	int status = JP_EXIT_BAD;

	if (!cases)
		return JP_EXIT_BROKEN;
	jp_case_folder_judge(&cases->cases[0], dir, &result);
	if (request->json) {
		print_notes(stderr, request->gathering.notes);
		jp_results_write(stdout, &result);
	} else {
		jp_ktap_head(stdout, 1);
		print_notes(stdout, request->gathering.notes);
		print_figures(&result.findings);
		jp_ktap_result(stdout, 1, &result);
	}
	if (result.outcome == JP_PASS)
		status = JP_EXIT_OK;
	jp_findings_free(&result.findings);
	jp_cases_free(cases);
	return status;
}

int jp_judge_truth(struct jp_truth_request *request)
{
	return jp_truth_request_judge(request, judge_folder);
}
