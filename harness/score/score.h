/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdio.h>

#include "harness/outcome/outcome.h"

/* What one profiler made of each workload: a board of rows, for people who wrote no case. */

/* The columns, in their order. What feeds most of them, metrics say by their role. */
enum jp_score_column {
	JP_SCORE_SEEN,     /* samples, of what the CPU time in emitted code says */
	JP_SCORE_MAPPED,   /* samples in emitted code whose memory it knows */
	JP_SCORE_RIGHT,    /* named after the function that lived there then */
	JP_SCORE_WRONG,    /* named after another one */
	JP_SCORE_WHOLE,    /* judged stacks that are whole */
	JP_SCORE_INVENTED, /* with a frame that cannot be, or that is not there */
	JP_SCORE_TASKS,    /* records of threads, processes and their names, wrong or missing */
	JP_SCORE_LOST,     /* samples and records that it knows it lost */
	JP_SCORE_COLUMNS
};
const char *jp_score_column_text(enum jp_score_column column);
/* Whose share is of faults: none is best. */
bool jp_score_column_is_bad(enum jp_score_column column);

struct jp_score_row {
	const char *scene; /* its name, results/scenes */
	const struct jp_case *cas;
	struct jp_cases *own; /* where the case is of no score's scenes */
	bool watched;         /* else the result says why not */
	bool launched;        /* else attached to */
	struct jp_result result;
	struct jp_score_cell {
		bool known;
		uint64_t k, n;
	} cells[JP_SCORE_COLUMNS];
	uint64_t cpu;   /* ns that the profiler took; UINT64_MAX: nobody knows */
	uint64_t watch; /* ns for which it watched */
};

struct jp_score {
	const char *profiler;
	char version[256];
	bool launches;
	char dir[4096]; /* where the runs are */
	struct jp_score_row *rows;
	size_t nr_rows, capacity;
	struct jp_cases *scenes; /* of the rows */
};

/* Fills the cells of @row from its result, which was judged. */
void jp_score_fill(struct jp_score_row *row);
/* How good a cell is: 0 to 1 (1: nothing is wrong), -1: nothing is known. */
double jp_score_share(const struct jp_score_row *row, enum jp_score_column column);
void jp_score_free(struct jp_score *score);

/* Whether something went wrong with its rows (ERROR, TIMEOUT, CRASH), and none was judged. */
bool jp_score_failed(const struct jp_score *score);

/* board.c: the cells of one row in a line, each after its column's name. */
void jp_score_print_line(FILE *out, const struct jp_score_row *row);
/* The table, the worst samples, the verdict in one line; as one object of JSON. */
void jp_score_print(FILE *out, const struct jp_score *score);
void jp_score_verdict(const struct jp_score *score, char *text, size_t size);
void jp_score_json(FILE *out, const struct jp_score *score);
/* The workloads where two differ. */
void jp_score_compare(FILE *out, const struct jp_score *one, const struct jp_score *other);
