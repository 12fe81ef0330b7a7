/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "harness/outcome/outcome.h"
#include "harness/report/page_data.h"
#include "harness/report/screen.h"

/* Reports the results of a run, or of judging it again, one by one and at the end. */
struct jp_report {
	const struct jp_cases *cases; /* the studies, for their tables */
	struct jp_result *results;
	size_t plan, count;
	size_t counts[JP_OUTCOMES];
	FILE *jsonl;      /* NULL: not written */
	FILE *ktap;       /* copy of the KTAP on standard output; NULL: none */
	FILE *junit;      /* written at the end; NULL: none */
	FILE *html;       /* the page, written at the end; NULL: none */
	bool is_unjudged; /* another run will judge the cases, and finds the plan in @ktap; nothing
			  goes to standard output */
	struct jp_page_data page; /* data of the page, if @html is set */
	struct jp_screen screen;  /* output for a terminal; if used, it replaces the KTAP */
	struct jp_error shortage; /* why output may be missing; "": it is complete */
};

/* Prints the head of a report on @plan results. Returns 0 or -ENOMEM. */
int jp_report_begin(struct jp_report *report, const struct jp_cases *cases, size_t plan);
/* Returns where to store the next result, which starts empty. Call jp_report_add() afterwards. */
struct jp_result *jp_report_next(struct jp_report *report);
/* Reports the result that jp_report_next() returned. Writes it also to the descriptor @is_single
 * (-1: none), as if it were the only result. */
void jp_report_add(struct jp_report *report, int is_single);
/* Ends the report on a plan that was not completed, and states @reason in the files. */
void jp_report_cut_short(struct jp_report *report, const char *reason);
/* Prints totals and tables. Returns the exit status (docs/reading-results.md). */
int jp_report_end(struct jp_report *report);
/* Writes the page about the run directory @dir, if @report has one. */
void jp_report_write_page(struct jp_report *report, const char *dir);
/* Returns 0, or -errno and a message if output could not be written or is incomplete. */
int jp_report_written(const struct jp_report *report, struct jp_error *err);
void jp_report_free(struct jp_report *report);
