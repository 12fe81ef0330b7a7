/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdio.h>

#include "harness/case/case.h"

/* Private to this folder: the parser of results/expected/STUDY, docs/expected-format.md. */
enum {
	JP_CASE_WORDS = 64,   /* most words in a line */
	JP_CASE_LINE = 4096,  /* most bytes of a line after axes are replaced */
	JP_CASE_TEXT = 65536, /* most bytes of a case's definition */
	JP_CASE_LIMIT = 4096, /* most cases and rows of a file after axes are replaced */
	JP_CASE_AXES = 4,     /* most axes in one line */
	JP_CASE_VALUES = 32,  /* most values of an axis */
	JP_CASE_PARTS = 3     /* parts of a case's first line: workload, capture, keys */
};

/* A block: a line that is not indented, with the indented lines below it. */
struct jp_case_block {
	const char *header; /* the first line, without its comment; NULL: no block */
	unsigned line;
	struct jp_case_indented {
		const char *text; /* as in the file */
		unsigned line;
	} * lines;
	size_t nr_lines, capacity;
};

/* An axis: a line "axis NAME VALUE...". Other lines that name the axis stand for a line with each
 * of its values. */
struct jp_case_axis {
	const char *name;
	const char **values;
	size_t nr_values;
};

/* The axes that a line names, each with the values used in this line, and the index of the current
 * value. */
struct jp_case_variants {
	struct {
		const struct jp_case_axis *axis;
		const char *values[JP_CASE_VALUES];
		size_t nr_values, current;
	} axes[JP_CASE_AXES];
	size_t nr_axes;
};

struct jp_case_parser {
	struct jp_cases *cases;
	const char *file, *study; /* @study NULL: the definition of one case in a run directory */
	unsigned line;            /* number of the line to state in messages */
	struct jp_case_block block, defaults;
	struct jp_case_block *sets; /* blocks "expect NAME", whose lines cases can include */
	size_t nr_sets, sets_capacity;
	struct jp_case_axis *axes;
	size_t nr_axes, axes_capacity;
	size_t first_case;  /* index of the first case of this file */
	size_t nr_made;     /* number of cases and rows made from this file */
	size_t first_table; /* index of the first table to which rows are added */
	bool in_table, in_rows;
	struct jp_case_variants variants; /* comment of the current line */
	FILE *out;                        /* stream to the definition of the current case */
	struct jp_case *cas;              /* the case being defined */
	struct jp_expectation expectations[JP_MAX_EXPECTATIONS];
	size_t nr_expectations;
	/* The current case's own lines were added already, where the defaults have "..." */
	bool own_keys;
	struct jp_error *err;
};

/* Reports "FILE:LINE: WHAT 'FOUND'; expected EXPECTED". Returns -EINVAL. */
int jp_case_refuse(struct jp_case_parser *p, const char *kind, const char *found,
		   const char *expected);
int jp_case_no_memory(struct jp_case_parser *p);
/* Returns zeroed memory that lives as long as @cases, or NULL if out of memory. */
void *jp_case_alloc(struct jp_cases *cases, size_t size);
/* Returns a text that lives as long as @cases, or NULL if out of memory. */
char *jp_case_print(struct jp_cases *cases, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* Returns whether @name consists of letters, digits, . _ + and -; with @slash: whether it is
 * STUDY/NAME. */
bool jp_case_name_ok(const char *name, bool slash);
/* Returns @text without blanks at its ends, which it changes. */
char *jp_case_trim(char *text);
/* Cuts the comment off @line. Returns the comment without blanks at its ends, or "". */
char *jp_case_cut_comment(char *line);
/* Splits @text into words. Returns their number, at most JP_CASE_WORDS, or -EINVAL. */
int jp_case_split_words(struct jp_case_parser *p, char *text, char *words[JP_CASE_WORDS]);

#define JP_CASE_FORM "case NAME check|full : WORKLOAD [ARG...] : CAPTURE [ARG...] [: KEY=VALUE...]"

/* The parts of a case's first line, which words ":" separate: workload, capture, keys. */
struct jp_case_parts {
	char **words[JP_CASE_PARTS];
	int counts[JP_CASE_PARTS];
};
/* Splits @words, from @first on, into parts. */
int jp_case_split(struct jp_case_parser *p, char **words, int first, int count,
		  struct jp_case_parts *parts);
/* Parses @line, the complete first line of p->cas. Changes @line. */
int jp_case_parse_line(struct jp_case_parser *p, char *line);
/* Defines the case in p->block, or one case for each combination of its axes' values. */
int jp_case_define(struct jp_case_parser *p);
/* Parses @line, an indented line of p->cas. Changes @line. */
int jp_case_expect(struct jp_case_parser *p, char *line);
/* Checks, after all lines of p->cas, that for each `allow ... predicted` of a method the case also
 * demands predicted.METHOD =100%. */
int jp_case_check_predicted(struct jp_case_parser *p);
/* Parses @text, the part of a line behind "table " or, with @row, behind "row ". */
int jp_case_parse_table(struct jp_case_parser *p, char *text, bool row);

/* Parses @text, the part of a line behind "axis ". */
int jp_case_parse_axis(struct jp_case_parser *p, char *text);
/* Sets p->variants to the axes that @text names, each at its first value. */
int jp_case_vary(struct jp_case_parser *p, const char *text);
/* Sets p->variants to the next combination of values; the last axis varies fastest. Returns false
 * after the last combination. */
bool jp_case_next_variant(struct jp_case_parser *p);
/* Returns a copy of @text in the store with each {AXIS} replaced by its current value. NULL: error
 * in p->err. */
char *jp_case_replace_axes(struct jp_case_parser *p, const char *text);
/* Parses a condition "where AXIS=VALUE,VALUE...: " at the beginning of an indented line, and moves
 * *@text behind it. Returns 1 if the condition holds for the current values or is missing, 0 if it
 * does not hold, or -EINVAL. */
int jp_case_parse_where(struct jp_case_parser *p, char **text);
