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
 * A case is a workload and a capture of it, with expectations about the results. The files
 * results/expected/STUDY define cases (docs/expected-format.md) and are embedded in the binary;
 * --expected DIR reads other files instead. Their lines `defaults`, `expect` and `axis` only avoid
 * repetition: in a struct jp_case they are expanded.
 */
struct jp_expectation {
	char metric[48];
	bool percent; /* @min and @max limit the metric's rate k/n (0..1); otherwise its count k */
	double min, max;
	/* A cause: the limits are for the number of the metric's exceptions with this cause; "":
	 * for the metric itself. */
	char allow[32];
	/* With @allow: the case also demands that the unwinding method walks every sample as
	 * predicted, including these exceptions. */
	bool is_predicted;
	char limit[48]; /* with @allow: a metric whose count is the upper limit; "": none */
	const char *reason;
	unsigned line;         /* line number in the file that defines it */
	struct jp_scope scope; /* tools and versions to which the expectation applies */
};

/* Most expectations of a case: a 64-bit mask states which of them are out of scope. */
#define JP_MAX_EXPECTATIONS 64

struct jp_case {
	const char *name;  /* STUDY/NAME */
	const char *study; /* the part of @name before the first slash */
	/* The case is in the set `check`, which `full` includes; else only in `full`. */
	bool check;
	int workload_argc;
	char **workload_argv; /* [0] is the workload's name; NULL-terminated */
	int capture_argc;
	char **capture_argv;
	unsigned samples; /* number of samples needed (samples=N), 2000 by default */
	/* Number of different sampled pairs of function and offset needed (distinct=N), 10 by
	 * default. */
	unsigned distinct;
	/* acts=KIND:N: number of acts, such as munmap, that the workload must perform */
	struct {
		enum jp_act act;
		unsigned count; /* 0: no acts are needed */
	} acts;
	unsigned seconds;       /* deadline in seconds (seconds=N), 30 by default */
	unsigned nr_namespaces; /* inside=N: number of nested namespaces; 0: none */
	/* control=NAME: the capture is wrong on purpose, and the validators must report this cause;
	 * NULL: not a control */
	const char *control;
	/* at=BOUNDARY:STEP: when the capture comes to that boundary, the runner makes the workload
	 * perform the step */
	struct {
		const char *boundary, *command; /* NULL: no step */
	} step;
	const char *program; /* program=NAME: jitproof-NAME runs the workload; NULL: jitproof */
	/* publish=HOW[:FAULT]: how the workload publishes names; NULL: its default */
	const char *publish;
	/* methods=chain,dump,...: unwinding methods to judge, a bit for each; 0: chain and dump */
	uint32_t methods;
	const char *inject; /* inject=keep|strip|cut|PROFILER; NULL: no injection */
	char **inject_with; /* inject=PROFILER,WORD,...: options of the profiler; NULL-terminated or
			       NULL */
	struct jp_expectation *expectations;
	size_t nr_expectations;
	const char *xfail; /* reason for which the case is known to fail; NULL: it must pass */
	bool variant;      /* one of several cases made from a line with axes */
	const char *file;  /* the file that defines it */
	unsigned line;
	/* Its complete definition with the full name, as in the file `case` of a run directory. */
	const char *text;
};

/* Returns whether @cas records the whole machine, so that its capture contains other processes. */
bool jp_case_records_whole_machine(const struct jp_case *cas);
/* Returns how the forked processes of @cas publish: HOW of --publish-children=HOW, else as the
 * first process. NULL: by default. */
const char *jp_case_publish_children(const struct jp_case *cas);

struct jp_table_cell {
	/* Full name of a case; "-": the cell is empty; "impossible": no such case can exist. */
	const char *name;
	const char *rule; /* footnote; NULL: none */
};
struct jp_table_row {
	const char *label;
	const struct jp_table_cell *cells; /* one for each column */
};
/* A metric shown in a table, METRIC[:SOME/NONE]. A cell shows the word SOME if the metric counts
 * anything, NONE if it counts nothing; without words it shows the count. */
struct jp_table_metric {
	const char *name, *some, *none;
};
struct jp_table {
	const char *study, *title;
	const struct jp_table_metric *metrics;
	/* 0: the table shows broken stacks, by each unwinding method */
	size_t nr_metrics;
	const char **columns, **rules; /* title and rule of each column; a rule may be NULL */
	size_t nr_columns;
	struct jp_table_row *rows;
	size_t nr_rows, rows_capacity;
};

struct jp_cases {
	struct jp_case *cases; /* sorted by name */
	size_t nr_cases, cases_capacity;
	struct jp_table *tables;
	size_t nr_tables, tables_capacity;
	struct jp_case_piece *pieces; /* memory of strings and lists */
};
/* Reads the cases in the files of @dir; NULL: of the files embedded in the binary. Returns NULL and
 * a message with file and line on errors. jp_cases_load() (harness/run/cases.h) also checks that
 * workloads, captures, publishers and their options exist. */
struct jp_cases *jp_cases_read(const char *dir, struct jp_error *err);
void jp_cases_free(struct jp_cases *cases);
/* Parses @text, the content of @file, and adds its cases to @cases, or to a new struct if NULL.
 * @study: the study to prepend to names; NULL: the names are complete, as in the file `case` of a
 * run directory. Checks syntax only. Returns the cases; or frees them and returns NULL with the
 * message "FILE:LINE: ...". */
struct jp_cases *jp_cases_parse(struct jp_cases *cases, const char *file, const char *study,
				const char *text, size_t size, struct jp_error *err);
/* Sorts the cases. Checks that names are unique, and that the cases named in tables exist. Returns
 * 0, or -errno and a message. */
int jp_cases_check(struct jp_cases *cases, struct jp_error *err);
/* Adds the names of all cases to @names. */
void jp_cases_list_names(const struct jp_cases *cases, struct jp_arguments *names);
const struct jp_case *jp_cases_find(const struct jp_cases *cases, const char *name);
