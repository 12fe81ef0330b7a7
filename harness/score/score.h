/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdio.h>

#include "harness/outcome/outcome.h"

/* A scoreboard: one profiler's result for each workload, without expectations. */

/* The columns, in their order. Most are filled by metrics with a role. */
enum jp_score_column {
	JP_SCORE_SEEN,     /* samples, as a share of those that the witness expects */
	JP_SCORE_MAPPED,   /* samples in emitted code whose memory the profiler knows */
	JP_SCORE_RIGHT,    /* samples with the name of the function that was there at that time */
	JP_SCORE_WRONG,    /* samples with the name of another function */
	JP_SCORE_WHOLE,    /* judged stacks that are complete */
	JP_SCORE_INVENTED, /* judged stacks with an impossible or an invented frame */
	JP_SCORE_TASKS,    /* wrong or missing records of threads, processes and names */
	JP_SCORE_LOST,     /* samples and records that the profiler states as lost */
	JP_SCORE_COLUMNS
};
const char *jp_score_column_text(enum jp_score_column column);
/* Returns whether the column counts faults, so that 0 is best. */
bool jp_score_column_is_bad(enum jp_score_column column);

struct jp_score_row {
	const char *scene; /* name in results/scenes */
	const struct jp_case *cas;
	struct jp_cases *own_cases; /* --again: the definition of @cas from its folder; else NULL */
	bool watched;      /* the profiler watched the workload; if not, @result states why */
	bool was_launched; /* true: the profiler launched the workload; false: it attached */
	struct jp_result result;
	struct jp_score_cell {
		bool is_known;
		uint64_t k, n;
	} cells[JP_SCORE_COLUMNS];
	uint64_t cpu;   /* ns of the profiler's CPU time; UINT64_MAX: unknown */
	uint64_t watch; /* ns for which the profiler watched */
};

struct jp_score {
	const char *profiler;
	char version[256];
	bool launches;
	char dir[4096]; /* folder of the runs */
	struct jp_score_row *rows;
	size_t nr_rows, capacity;
	struct jp_cases *scenes; /* scenes of the rows */
};

/* Fills the cells of @row from its judged result. */
void jp_score_fill(struct jp_score_row *row);
/* Returns how good the cell of @row in @column is: 0 to 1 (1: no fault), or -1 if unknown. */
double jp_score_rate_cell(const struct jp_score_row *row, enum jp_score_column column);
void jp_score_free(struct jp_score *score);

/* Returns whether rows failed (ERROR, TIMEOUT, CRASH) and no row was judged. */
bool jp_score_failed(const struct jp_score *score);

/* Prints the cells of a row in one line, each after its column's name (board.c). */
void jp_score_print_line(FILE *out, const struct jp_score_row *row);
/* Prints the table, the worst samples and the verdict. */
void jp_score_print(FILE *out, const struct jp_score *score);
/* Writes the whole score as one JSON object. */
void jp_score_json(FILE *out, const struct jp_score *score);
/* Prints the workloads in which two scores differ. */
void jp_score_compare(FILE *out, const struct jp_score *score, const struct jp_score *other_score);
