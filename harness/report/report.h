/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "harness/outcome/outcome.h"

/* The results of a run or of judging one again, as they come and at their end. */
struct jp_report {
	const struct jp_cases *cases; /* for their tables */
	struct jp_result *results;
	size_t plan, count;
	size_t counts[JP_OUTCOMES];
	FILE *jsonl;   /* NULL: none is written */
	FILE *ktap;    /* a copy of standard output, NULL: none */
	FILE *junit;   /* written at the end, NULL: not */
	bool unjudged; /* others judge, and find the plan in @ktap; nothing is on standard output */
	struct jp_error shortage; /* why something may be missing from what was told; "": nothing */
};

/* Prints the head of @plan results. -ENOMEM at worst. */
int jp_report_begin(struct jp_report *report, const struct jp_cases *cases, size_t plan);
/* Where the next result goes; then tell it, also in the file @alone (-1: none), as if it were all.
 */
struct jp_result *jp_report_next(struct jp_report *report);
void jp_report_tell(struct jp_report *report, int alone);
/* Instead of the end: not all of the plan was done, and the files say so. */
void jp_report_cut_short(struct jp_report *report, const char *why);
/* Totals and tables; returns the exit status (docs/reading-results.md). */
int jp_report_end(struct jp_report *report);
/* -errno and a message where what was told could not be written, or is not whole. */
int jp_report_written(const struct jp_report *report, struct jp_error *err);
void jp_report_free(struct jp_report *report);
