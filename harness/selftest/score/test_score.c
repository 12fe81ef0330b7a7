// SPDX-License-Identifier: GPL-2.0-only
/* Tests that a cell of the score counts every fault, also faults that are part of no rate. */
#include <inttypes.h>

#include "harness/base/excuse.h"
#include "harness/base/registry.h"
#include "harness/score/score.h"
#include "harness/selftest/support/check.h"
#include "workloads/emit/workload.h"

static const struct jp_role invented_role = {.column = "invented"};

/* Returns the cell `invented` for @nr_wrong of @judged stacks and @impossible samples. */
static struct jp_score_cell fill_cell(uint64_t nr_wrong, uint64_t judged, uint64_t impossible,
				      double *share)
{
	struct jp_score_row row = {0};
	struct jp_findings *findings = &row.result.findings;

	findings->judged[0] = true;
	findings->verdicts[0][JP_WRONG] = nr_wrong;
	findings->verdicts[0][JP_EXACT] = judged - nr_wrong;
	jp_findings_add_role_count(findings, &invented_role, "samples.impossible", impossible);
	jp_score_fill(&row);
	*share = jp_score_rate_cell(&row, JP_SCORE_INVENTED);
	jp_findings_free(findings);
	return row.cells[JP_SCORE_INVENTED];
}

static const struct jp_role mapped_role = {.faults = "mapped"};

/* Returns the cell `mapped` of a row in which 7 of 9 samples and one of two acts are mapped. */
static struct jp_score_cell fill_faults(const char *cause)
{
	static const struct jp_role samples_role = {.column = "mapped"};
	static char *workload[] = {"w", NULL};
	const struct jp_case cas = {.workload_argv = workload};
	struct jp_score_row row = {.result.cas = &cas};
	struct jp_findings *findings = &row.result.findings;

	jp_findings_add_role_rate(findings, &samples_role, "made.samples", 7, 9);
	jp_findings_add_role_rate(findings, &mapped_role, "made.acts", 1, 2);
	jp_findings_count_failure(findings, "made.acts", cause, "one");
	jp_score_fill(&row);
	jp_findings_free(findings);
	return row.cells[JP_SCORE_MAPPED];
}

static const struct jp_excuse made[] = {{"made", NULL, "made.acts", "limit", NULL, "a limit"}};
JP_REGISTER_ROWS(excuse, made);
JP_DEFINE(workload, made_workload) = {.name = "w"};

TEST(faults)
{
	const struct jp_score_cell bad = fill_faults("lost"), excused = fill_faults("limit");

	check(bad.k == 7 && bad.n == 10, "an exception that nothing allows is a fault");
	check(excused.k == 7 && excused.n == 9, "an excused exception is none");
}

TEST(score)
{
	struct jp_score_cell cell;
	double share;

	cell = fill_cell(278, 282, 7, &share);
	check(cell.is_known && cell.k == 285 && cell.n == 289 && share > 0 && share < 1,
	      "%" PRIu64 " of %" PRIu64 " are invented, share %g", cell.k, cell.n, share);

	cell = fill_cell(282, 282, 7, &share);
	check(cell.is_known && cell.k == cell.n && share == 0,
	      "%" PRIu64 " of %" PRIu64 " are invented, share %g", cell.k, cell.n, share);

	/* No stack is judged if every sample is impossible. */
	cell = fill_cell(0, 0, 7, &share);
	check(cell.is_known && cell.k == 7 && cell.n == 7 && share == 0,
	      "%" PRIu64 " of %" PRIu64 " are invented, share %g", cell.k, cell.n, share);

	cell = fill_cell(0, 282, 0, &share);
	check(cell.is_known && !cell.k && cell.n == 282 && share == 1,
	      "%" PRIu64 " of %" PRIu64 " are invented, share %g", cell.k, cell.n, share);

	cell = fill_cell(0, 0, 0, &share);
	check(!cell.is_known && share < 0, "%" PRIu64 " of %" PRIu64 " are invented, share %g",
	      cell.k, cell.n, share);
}
