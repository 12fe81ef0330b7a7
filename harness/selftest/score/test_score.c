// SPDX-License-Identifier: GPL-2.0-only
/* Tests that a cell of the score counts every fault, also faults that are part of no rate. */
#include <inttypes.h>

#include "harness/score/score.h"
#include "harness/selftest/support/check.h"

static const struct jp_role invented_role = {.column = "invented"};

/* Returns the cell `invented` for @wrong of @judged stacks and @impossible samples. */
static struct jp_score_cell fill_cell(uint64_t wrong, uint64_t judged, uint64_t impossible,
				      double *share)
{
	struct jp_score_row row = {0};
	struct jp_findings *findings = &row.result.findings;

	findings->judged[0] = true;
	findings->verdicts[0][JP_WRONG] = wrong;
	findings->verdicts[0][JP_EXACT] = judged - wrong;
	jp_findings_add_with_role(findings, &invented_role,
				  jp_metric_count("samples.impossible", impossible));
	jp_score_fill(&row);
	*share = jp_score_rate_cell(&row, JP_SCORE_INVENTED);
	jp_findings_free(findings);
	return row.cells[JP_SCORE_INVENTED];
}

int main(void)
{
	struct jp_score_cell cell;
	double share;

	cell = fill_cell(278, 282, 7, &share);
	check(cell.known && cell.k == 285 && cell.n == 289 && share > 0 && share < 1,
	      "%" PRIu64 " of %" PRIu64 " are invented, share %g", cell.k, cell.n, share);

	cell = fill_cell(282, 282, 7, &share);
	check(cell.known && cell.k == cell.n && share == 0,
	      "%" PRIu64 " of %" PRIu64 " are invented, share %g", cell.k, cell.n, share);

	/* No stack is judged if every sample is impossible. */
	cell = fill_cell(0, 0, 7, &share);
	check(cell.known && cell.k == 7 && cell.n == 7 && share == 0,
	      "%" PRIu64 " of %" PRIu64 " are invented, share %g", cell.k, cell.n, share);

	cell = fill_cell(0, 282, 0, &share);
	check(cell.known && !cell.k && cell.n == 282 && share == 1,
	      "%" PRIu64 " of %" PRIu64 " are invented, share %g", cell.k, cell.n, share);

	cell = fill_cell(0, 0, 0, &share);
	check(!cell.known && share < 0, "%" PRIu64 " of %" PRIu64 " are invented, share %g", cell.k,
	      cell.n, share);
	return check_done();
}
