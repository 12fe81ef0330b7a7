// SPDX-License-Identifier: GPL-2.0-only
/* Splits a file of results/expected/ into blocks of lines, and handles each block
 * (docs/expected-format.md). */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/array.h"
#include "harness/case/case_parser.h"

static bool starts_with_word(const char *line, const char *word)
{
	size_t length = strlen(word);

	return strncmp(line, word, length) == 0 && strchr(" \t", line[length]);
}

/* Returns the text behind the first word of @line, possibly empty. */
static char *skip_word(char *line, const char *word)
{
	line += strlen(word);
	return line + strspn(line, " \t");
}

/* Keeps the block "expect NAME", so that cases can include its lines by name. */
static int keep_set(struct jp_case_parser *p)
{
	const char *name = p->block.header + strlen("expect");
	struct jp_case_block *set;

	name += strspn(name, " \t");
	p->line = p->block.line;
	if (!jp_case_name_ok(name, false))
		return jp_case_refuse(p, "expect", name, "a name of letters, digits, . _ + and -");
	for (size_t i = 0; i < p->nr_sets; i++)
		if (strcmp(p->sets[i].header, name) == 0)
			return jp_case_refuse(p, "second expect", name,
					      "a name that is not defined yet");
	set = jp_array_push(&p->sets, &p->nr_sets, &p->sets_capacity);
	if (!set)
		return jp_case_no_memory(p);
	*set = p->block;
	set->header = name;
	return 0;
}

/* Handles p->block after all its indented lines are read. */
static int close_block(struct jp_case_parser *p)
{
	int ret = 0;

	if (!p->block.header)
		return 0;
	if (starts_with_word(p->block.header, "case")) {
		ret = jp_case_define(p);
		free(p->block.lines);
	} else if (starts_with_word(p->block.header, "defaults")) {
		free(p->defaults.lines);
		p->defaults = p->block;
	} else {
		ret = keep_set(p);
		if (ret)
			free(p->block.lines);
	}
	memset(&p->block, 0, sizeof(p->block));
	return ret;
}

static int add_indented(struct jp_case_parser *p, char *line)
{
	struct jp_case_indented *stored;

	if (!p->block.header)
		return jp_case_refuse(p, "indented line", line + strspn(line, " \t"),
				      "a case above it");
	stored = jp_array_push(&p->block.lines, &p->block.nr_lines, &p->block.capacity);
	if (!stored)
		return jp_case_no_memory(p);
	*stored = (struct jp_case_indented){line, p->line};
	return 0;
}

/* Handles a line that is not indented, which completes the block before it. */
static int parse_first_line(struct jp_case_parser *p, char *line)
{
	bool table = starts_with_word(line, "table"), is_row = starts_with_word(line, "row");
	unsigned number = p->line;
	int ret = close_block(p);

	p->line = number;
	if (ret)
		return ret;
	if (!p->study && !starts_with_word(line, "case"))
		return jp_case_refuse(p, "line", line, "only cases here");
	if (table || is_row)
		return jp_case_parse_table(p, skip_word(line, is_row ? "row" : "table"), is_row);
	p->in_table = false;
	if (starts_with_word(line, "axis"))
		return jp_case_parse_axis(p, skip_word(line, "axis"));
	if (!starts_with_word(line, "case") && !starts_with_word(line, "defaults") &&
	    !starts_with_word(line, "expect"))
		return jp_case_refuse(p, "word", line,
				      "case, defaults, expect, axis, table, row, a comment or an "
				      "indented line");
	p->block.header = line;
	p->block.line = number;
	return 0;
}

static int parse_line(struct jp_case_parser *p, const char *text, size_t length)
{
	char *line, *copy;

	p->line++;
	if (length > JP_CASE_LINE || memchr(text, '\0', length))
		return jp_case_refuse(p, "line", "(binary?)", "text of at most 4096 bytes a line");
	line = jp_case_print(p->cases, "%.*s", (int)length, text);
	copy = line ? jp_case_print(p->cases, "%s", line) : NULL;
	if (!copy)
		return jp_case_no_memory(p);
	jp_case_cut_comment(copy);
	copy = jp_case_trim(copy);
	if (!copy[0])
		return 0;
	return line[0] == ' ' || line[0] == '\t' ? add_indented(p, line)
						 : parse_first_line(p, copy);
}

static void free_parser(struct jp_case_parser *p)
{
	for (size_t i = 0; i < p->nr_sets; i++)
		free(p->sets[i].lines);
	free(p->sets);
	free(p->axes);
	free(p->defaults.lines);
	free(p->block.lines);
}

struct jp_cases *jp_cases_parse(struct jp_cases *cases, const char *file, const char *study,
				const char *text, size_t size, struct jp_error *err)
{
	struct jp_case_parser p = {.cases = cases ?: calloc(1, sizeof(*cases)), .err = err};
	const char *end = text + size, *next;
	int ret = 0;

	if (!p.cases) {
		jp_fail(err, ENOMEM, "%s: out of memory", file);
		return NULL;
	}
	p.file = jp_case_print(p.cases, "%s", file);
	p.study = study ? jp_case_print(p.cases, "%s", study) : NULL;
	p.first_case = p.cases->nr_cases;
	if (!p.file || (study && !p.study))
		ret = jp_fail(err, ENOMEM, "%s: out of memory", file);
	else if (study && !jp_case_name_ok(study, false))
		ret = jp_fail(err, EINVAL, "%s: '%s' is no name of a study", file, study);
	for (const char *pos = text; !ret && pos < end; pos = next) {
		const char *newline = memchr(pos, '\n', (size_t)(end - pos));

		next = newline ? newline + 1 : end;
		ret = parse_line(&p, pos, (size_t)((newline ? newline : end) - pos));
	}
	if (!ret)
		ret = close_block(&p);
	free_parser(&p);
	if (!ret)
		return p.cases;
	jp_cases_free(p.cases);
	return NULL;
}
