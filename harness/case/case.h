/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/base/arguments.h"
#include "harness/base/error.h"
#include "harness/case/scope.h"
#include "harness/format/truth/tally.h"

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
	bool percent; /* the range is of the rate k/n (0..1); else of the count k */
	double min, max;
	char allow[32]; /* not "": this many exceptions of this cause are expected */
	/* For exceptions: the case demands that the method walks every sample as predicted, these
	 * included. */
	bool predicted;
	char most[48]; /* for exceptions, not "": at most as many as this metric counts */
	const char *reason;
	unsigned line;         /* line of its file */
	struct jp_scope scope; /* tools to which it applies */
};

/* Limit of expectations in a case: a mask states which are out of scope. */
#define JP_MAX_EXPECTATIONS 64

struct jp_case {
	const char *name;  /* STUDY/NAME */
	const char *study; /* before the first slash */
	bool check;        /* in the set `check`, else only `full` */
	int workload_argc;
	char **workload_argv; /* [0] is the workload's name; NULL-terminated */
	int capture_argc;
	char **capture_argv;
	unsigned samples;  /* needed (samples=N), 2000 by default */
	unsigned distinct; /* needed (distinct=N) pairs of function and offset, 10 by default */
	struct {           /* acts=KIND:N: needed acts of the workload */
		enum jp_act act;
		unsigned count; /* 0: none */
	} acts;
	unsigned seconds;    /* deadline in seconds (seconds=N), 30 by default */
	unsigned inside;     /* inside=N: number of nested namespaces; 0: none */
	const char *control; /* control=NAME: must be caught; NULL: no control */
	struct { /* at=BOUNDARY:STEP: the workload acts at that boundary, by handshake */
		const char *boundary, *command; /* NULL: nowhere */
	} step;
	const char *program; /* program=NAME: jitproof-NAME runs the workload; NULL: jitproof */
	const char *publish; /* publish=HOW[:FAULT]; NULL: the workload's default */
	uint32_t methods;    /* methods=chain,dump,...: a bit for each; 0: chain and dump */
	const char *inject;  /* inject=keep|strip|cut|PROFILER; NULL: no injection */
	char **inject_with; /* inject=PROFILER,WORD,...: options of the profiler; NULL-terminated or
			       NULL */
	struct jp_expectation *expectations;
	size_t nr_expectations;
	const char *xfail; /* why it is known to fail; NULL: it must pass */
	bool variant;      /* made from a line with axes */
	const char *file;  /* where it is defined */
	unsigned line;
	const char *
		text; /* its definition with the full name, as a run directory keeps it in `case` */
};

struct jp_table_cell {
	const char
		*name; /* full name of a case; "-": empty; "impossible": no such case can exist */
	const char *rule; /* footnote; NULL: none */
};
struct jp_table_row {
	const char *label;
	const struct jp_table_cell *cells; /* one for each column */
};
/* METRIC[:WORD/WORD] of a table's line: the first word is shown if k > 0, the second if k is 0;
 * without words the value alone. */
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
/* Reads the cases of @dir; NULL: those in the binary. Errors name file and line. jp_cases_load()
 * (harness/run/cases.h) also checks that workloads, captures, publishers and their options
 * exist. */
struct jp_cases *jp_cases_read(const char *dir, struct jp_error *err);
void jp_cases_free(struct jp_cases *cases);
/* Parses @text of one file. @study NULL: names are complete (the file `case` of a run directory).
 * Adds to @into, or to a new set if NULL. Returns NULL and "FILE:LINE: ..." if the text is bad;
 * @into is then freed. Checks syntax only. */
struct jp_cases *jp_cases_parse(struct jp_cases *into, const char *file, const char *study,
				const char *text, size_t size, struct jp_error *err);
/* Sorts the cases and checks names: duplicates, cases in rows. */
int jp_cases_check(struct jp_cases *cases, struct jp_error *err);
/* Adds the names of all cases to @names. */
void jp_cases_names(const struct jp_cases *cases, struct jp_arguments *names);
const struct jp_case *jp_cases_find(const struct jp_cases *cases, const char *name);
