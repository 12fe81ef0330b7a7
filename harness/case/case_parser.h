/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdio.h>

#include "harness/case/case_store.h"

/* Private to this folder: the parser of results/expected/STUDY, docs/expected-format.md. */
enum {
	JP_CASE_WORDS = 64,   /* of a line */
	JP_CASE_LINE = 4096,  /* bytes of a line, axes replaced */
	JP_CASE_TEXT = 65536, /* bytes of a case's definition */
	JP_CASE_LIMIT = 4096, /* cases and rows of a file, axes replaced */
	JP_CASE_AXES = 4,     /* that vary in one line */
	JP_CASE_VALUES = 32,  /* of an axis */
	JP_CASE_PARTS = 3     /* workload, capture, keys */
};

/* A line of the file and the indented lines below it. */
struct jp_case_block {
	const char *header; /* without its comment; NULL: there is none */
	unsigned line;
	struct jp_case_indented {
		const char *text; /* as it stands in the file */
		unsigned line;
	} * lines;
	size_t nr_lines, capacity;
};

/* axis NAME VALUE... */
struct jp_case_axis {
	const char *name;
	const char **values;
	size_t nr_values;
};

/* The axes that a line varies, each with the values that it takes there and the one of now. */
struct jp_case_variants {
	struct {
		const struct jp_case_axis *axis;
		const char *values[JP_CASE_VALUES];
		size_t nr_values, now;
	} axes[JP_CASE_AXES];
	size_t nr_axes;
};

struct jp_case_parser {
	struct jp_case_store *store;
	const char *file, *study; /* @study NULL: the definition of one case in a run directory */
	unsigned line;            /* what errors name */
	struct jp_case_block block, defaults;
	struct jp_case_block *sets; /* expect NAME */
	size_t nr_sets, sets_capacity;
	struct jp_case_axis *axes;
	size_t nr_axes, axes_capacity;
	size_t first_case;  /* of this file */
	size_t made;        /* cases and rows of it */
	size_t first_table; /* rows belong to the tables from this one on */
	bool in_table, in_rows;
	struct jp_case_variants variants; /* of the line that is being read */
	FILE *out;                        /* the definition that is being written */
	struct jp_case *cas; /* the one that is being defined, and what is expected of it */
	struct jp_expectation expectations[JP_MAX_EXPECTATIONS];
	size_t nr_expectations;
	bool own; /* its own lines have come, at "..." of the defaults */
	struct jp_error *err;
};

/* "FILE:LINE: WHAT 'FOUND'; expected EXPECTED" and -EINVAL. */
int jp_case_bad(struct jp_case_parser *p, const char *what, const char *found,
		const char *expected);
int jp_case_no_memory(struct jp_case_parser *p);
/* A name of letters, digits, . _ + and -; with @slash STUDY/NAME. */
bool jp_case_name_ok(const char *name, bool slash);
/* @text without the blanks at its ends. */
char *jp_case_trim(char *text);
/* Cuts @line before its comment and returns that, trimmed; "" where there is none. */
char *jp_case_cut_comment(char *line);
/* The words of @text, which it cuts apart. Their number, at most JP_CASE_WORDS, or -EINVAL. */
int jp_case_words(struct jp_case_parser *p, char *text, char *words[JP_CASE_WORDS]);

#define JP_CASE_FORM "case NAME check|full : WORKLOAD [ARG...] : CAPTURE [ARG...] [: KEY=VALUE...]"

/* The parts of a first line, between words ":": workload, capture, keys. */
struct jp_case_parts {
	char **words[JP_CASE_PARTS];
	int counts[JP_CASE_PARTS];
};
/* @words from @from on. */
int jp_case_split(struct jp_case_parser *p, char **words, int from, int count,
		  struct jp_case_parts *parts);
/* The first line of p->cas, complete and with the name in full, which it cuts apart. */
int jp_case_line(struct jp_case_parser *p, char *line);
/* p->block is a case, or one for each combination of its axes' values. */
int jp_case_define(struct jp_case_parser *p);
/* An indented line of p->cas, which it cuts apart. */
int jp_case_expect(struct jp_case_parser *p, char *line);
/* Once all of p->cas's lines are there: who says `predicted` of a method demands it. */
int jp_case_check_predicted(struct jp_case_parser *p);
/* What follows "table " or, with @row, "row ". */
int jp_case_table_line(struct jp_case_parser *p, char *text, bool row);

/* What follows "axis ". */
int jp_case_axis_line(struct jp_case_parser *p, char *text);
/* Makes p->variants of the axes that @text names, each at its first value. */
int jp_case_vary(struct jp_case_parser *p, const char *text);
/* The next combination of values, the last axis first. False: that was the last one. */
bool jp_case_next_variant(struct jp_case_parser *p);
/* A copy of @text in the store, each {AXIS} replaced by its value of now; NULL: p->err says why. */
char *jp_case_replace_axes(struct jp_case_parser *p, const char *text);
/* "where AXIS=VALUE,VALUE...: " before an indented line: *@text moves behind it. 1: it holds, or
 * there is none; 0: it does not hold; -EINVAL. */
int jp_case_where(struct jp_case_parser *p, char **text);
