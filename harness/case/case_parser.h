/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef JP_CASE_PARSER_H
#define JP_CASE_PARSER_H

#include "harness/case/case_store.h"

/* Private to this folder: the parser of results/expected/STUDY. */
enum { JP_CASE_WORDS = 64 };

struct jp_case_parser {
	struct jp_case_store *store;
	const char *file, *study;
	unsigned line;
	struct jp_case *cas;    /* the one that indented lines belong to */
	struct jp_table *table; /* the one that rows belong to */
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
/* What follows "table " or, with @row, "row ". */
int jp_case_table_line(struct jp_case_parser *p, char *text, bool row);

#endif
