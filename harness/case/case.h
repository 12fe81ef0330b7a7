/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/base/error.h"
#include "harness/case/scope.h"

/*
 * The cases and what is expected of them come from results/expected/STUDY (built into the binary;
 * --expected DIR reads them from there instead). docs/expected-format.md:
 *
 *	case NAME SET : WORKLOAD [ARG...] : CAPTURE [ARG...] [: KEY=VALUE...]
 *		METRIC RANGE [, METRIC RANGE...]  # reason
 *		METRIC allow CAUSE RANGE|<=METRIC  # reason
 *		METRIC.METHOD allow CAUSE predicted  # reason
 *		when TOOL VERSIONS: METRIC ...  # reason
 *		xfail  # reason
 *	table TITLE [metric=METRIC...] | COLUMN | COLUMN...
 *	row LABEL | CASE[: RULE] | CASE[: RULE]...
 *
 * NAME is without the study; indented lines belong to the case above. `defaults`, `expect` and
 * `axis` save repeating: a struct jp_case is complete, and its text has none of them.
 */
struct jp_expectation {
	char metric[48];
	bool percent; /* the range is one of the rate k/n (0..1); else of the count k */
	double min, max;
	char allow[32]; /* not "": exceptions of this cause are expected here, so many of them */
	/* Of exceptions: the case demands that the method walks every sample as foretold, these
	 * among them. */
	bool predicted;
	char most[48]; /* of exceptions, not "": at most as many as this metric counts */
	const char *reason;
	unsigned line;         /* where it is written */
	struct jp_scope scope; /* where it holds */
};

/* More a case cannot have: which of them are out of scope is a mask. */
#define JP_MAX_EXPECTATIONS 64

struct jp_case {
	const char *name;  /* STUDY/NAME */
	const char *study; /* before the first slash */
	bool check;        /* in the set `check`, else only `full` */
	int workload_argc;
	char **workload_argv; /* [0] is the workload's name; NULL-terminated */
	int capture_argc;
	char **capture_argv;
	unsigned samples;    /* needed (samples=N), 2000 by default */
	unsigned distinct;   /* needed (distinct=N) pairs of function and offset, 10 by default */
	unsigned seconds;    /* deadline (seconds=N), 30 by default */
	unsigned inside;     /* inside=N: in so many nested namespaces; 0: where we are */
	const char *control; /* control=NAME: must be caught; NULL: is none */
	struct {             /* at=BOUNDARY:STEP: make the workload act there, by handshake */
		const char *boundary, *command; /* NULL: nowhere */
	} step;
	const char *publish; /* publish=HOW[:FAULT]; NULL: the workload is not told */
	uint32_t methods;    /* methods=chain,dump,...: a bit each; 0: chain and dump */
	const char *inject;  /* inject=keep|strip|cut|PROFILER; NULL: nothing is injected */
	char **inject_with; /* inject=PROFILER,WORD,...: its own options; NULL-terminated or NULL */
	struct jp_expectation *expectations;
	size_t nr_expectations;
	const char *xfail; /* known to fail, for this reason; NULL: must pass */
	bool variant;      /* one of those that a line makes by its axes */
	const char *file;  /* where it is defined */
	unsigned line;
	const char
		*text; /* its definition with the full name: what a run directory keeps as `case` */
};

struct jp_table_cell {
	const char *name; /* of a case, in full; "-": empty; "impossible": no case can be */
	const char *rule; /* why it is as it is; NULL: nothing to say */
};
struct jp_table_row {
	const char *label;
	const struct jp_table_cell *cells; /* one per column */
};
/* METRIC[:WORD/WORD] of a table's line: the first word stands where k > 0, the second where it is
 * 0, and without them the figure stands alone. */
struct jp_table_metric {
	const char *name, *some, *none;
};
struct jp_table {
	const char *study, *title;
	const struct jp_table_metric *metrics;
	size_t nr_metrics;             /* 0: broken stacks, once for each method */
	const char **columns, **rules; /* of columns; a rule may be NULL */
	size_t nr_columns;
	struct jp_table_row *rows;
	size_t nr_rows, rows_capacity;
};

struct jp_cases {
	struct jp_case *cases; /* by name */
	size_t nr_cases;
	struct jp_table *tables;
	size_t nr_tables;
};
/* @dir NULL: what is built in. Names bad lines and names with file and line. Whether workloads,
 * captures, publishers and their options are there is asked by jp_cases_load() alone
 * (harness/run/cases.h). */
struct jp_cases *jp_cases_read(const char *dir, struct jp_error *err);
void jp_cases_free(struct jp_cases *cases);
/*
 * Parses one file's @text. @study NULL: names are given in full (the file `case` of a run
 * directory).
 * @into NULL: a new set; else added to it. NULL and "FILE:LINE: ..." where the text is bad; @into
 * is then freed. Only the syntax.
 */
struct jp_cases *jp_cases_parse(struct jp_cases *into, const char *file, const char *study,
				const char *text, size_t size, struct jp_error *err);
/* Sorts, and checks names: duplicates, rows' cases. */
int jp_cases_check(struct jp_cases *cases, struct jp_error *err);
const struct jp_case *jp_cases_find(const struct jp_cases *cases, const char *name);
