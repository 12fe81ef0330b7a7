// SPDX-License-Identifier: GPL-2.0-only
#include "harness/score/score.h"

#include <stdlib.h>
#include <string.h>

#include "harness/outcome/expect.h"

static const char *const texts[JP_SCORE_COLUMNS] = {
	[JP_SCORE_SEEN] = "seen",   [JP_SCORE_MAPPED] = "mapped", [JP_SCORE_RIGHT] = "right",
	[JP_SCORE_WRONG] = "wrong", [JP_SCORE_WHOLE] = "whole",   [JP_SCORE_INVENTED] = "invented",
	[JP_SCORE_TASKS] = "tasks", [JP_SCORE_LOST] = "lost",
};

const char *jp_score_column_text(enum jp_score_column column)
{
	return texts[column];
}

bool jp_score_column_is_bad(enum jp_score_column column)
{
	return column == JP_SCORE_WRONG || column == JP_SCORE_INVENTED ||
	       column == JP_SCORE_TASKS || column == JP_SCORE_LOST;
}

/* Returns the column with the heading @text, or JP_SCORE_COLUMNS if @text is NULL or no heading. */
static int find_column(const char *text)
{
	int column = 0;

	while (text && column < JP_SCORE_COLUMNS && strcmp(texts[column], text) != 0)
		column++;
	return text ? column : JP_SCORE_COLUMNS;
}

/* Fills the cells of the columns that the roles of metrics name. Adds up several rates of one
 * column. A metric that is a plain count adds to the column's faults. */
static void fill_by_role(struct jp_score_row *row)
{
	const struct jp_findings *findings = &row->result.findings;

	for (size_t i = 0; i < findings->nr_metrics; i++) {
		const struct jp_metric *metric = &findings->metrics[i];
		const int column = find_column(metric->role ? metric->role->column : NULL);
		uint64_t n;

		if (column == JP_SCORE_COLUMNS)
			continue;
		n = metric->rate ? metric->n : jp_score_column_is_bad(column) ? metric->k : 0;
		row->cells[column].k += metric->k;
		row->cells[column].n += n;
		row->cells[column].is_known |= n > 0;
	}
}

/* Adds the exceptions that nothing allows to the columns that the roles of their metrics name. */
static void add_faults(struct jp_score_row *row)
{
	const struct jp_findings *findings = &row->result.findings;

	for (size_t i = 0; i < findings->nr_exceptions; i++) {
		const struct jp_exception *exception = &findings->exceptions[i];
		const struct jp_metric *metric =
			jp_findings_find_metric(findings, exception->metric);
		const int column =
			find_column(metric && metric->role ? metric->role->faults : NULL);

		if (column == JP_SCORE_COLUMNS ||
		    jp_expect_find_permission(&row->result, exception))
			continue;
		row->cells[column].is_known = true;
		row->cells[column].n += exception->count;
		if (jp_score_column_is_bad(column))
			row->cells[column].k += exception->count;
	}
}

/* Fills the cells about stacks from the last judged method of enum jp_method: with stack dumps,
 * that is their method. */
static void fill_stacks(struct jp_score_row *row)
{
	const struct jp_findings *findings = &row->result.findings;
	const uint64_t *verdicts = NULL;
	uint64_t judged = 0;

	for (enum jp_method method = 0; method < JP_METHODS; method++)
		if (findings->judged[method])
			verdicts = findings->verdicts[method];
	for (int verdict = 0; verdicts && verdict < JP_VERDICTS; verdict++)
		judged += verdict == JP_UNJUDGED ? 0 : verdicts[verdict];
	if (!judged)
		return;
	row->cells[JP_SCORE_WHOLE] =
		(struct jp_score_cell){true, verdicts[JP_EXACT] + verdicts[JP_GAP], judged};
	row->cells[JP_SCORE_INVENTED] =
		(struct jp_score_cell){true, verdicts[JP_WRONG] + verdicts[JP_EXTRA], judged};
}

/* Adds two counts from untrusted files. */
static uint64_t add_saturated(uint64_t a, uint64_t b)
{
	return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

void jp_score_fill(struct jp_score_row *row)
{
	const struct jp_capture_info *info = &row->result.info;
	const uint64_t lost = add_saturated(info->lost_samples, info->lost_sideband);

	memset(row->cells, 0, sizeof(row->cells));
	/* If the capture contradicts the runner's window or clock, the row shows that instead. */
	if (row->result.contradicted)
		return;
	fill_stacks(row);
	fill_by_role(row);
	add_faults(row);
	row->cells[JP_SCORE_LOST] =
		(struct jp_score_cell){info->stopped != 0 && (row->result.tells_losses || lost),
				       lost, add_saturated(lost, info->samples)};
}

double jp_score_rate_cell(const struct jp_score_row *row, enum jp_score_column column)
{
	const struct jp_score_cell *cell = &row->cells[column];
	double share;

	if (!cell->is_known || !cell->n)
		return -1;
	share = (double)cell->k / (double)cell->n;
	if (jp_score_column_is_bad(column))
		share = 1 - share;
	return share > 1 ? 1 : share;
}

void jp_score_free(struct jp_score *score)
{
	for (size_t i = 0; i < score->nr_rows; i++) {
		jp_findings_free(&score->rows[i].result.findings);
		jp_cases_free(score->rows[i].own_cases);
	}
	jp_cases_free(score->scenes);
	free(score->rows);
	score->rows = NULL;
	score->nr_rows = 0;
}
