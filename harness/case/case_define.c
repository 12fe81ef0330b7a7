// SPDX-License-Identifier: GPL-2.0-only
/* Turns a block (a line "case" and its indented lines) into cases, one for each combination of axis
 * values: writes the complete definition of each case, and parses it. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "harness/base/array.h"
#include "harness/base/cleanup.h"
#include "harness/base/shortage.h"
#include "harness/case/case_parser.h"

static bool is_same_key(const char *a, const char *b)
{
	size_t length = strcspn(a, "=");

	return strncmp(a, b, length + 1) == 0;
}

/* Returns the word KEY=VALUE of @own_parts with the same KEY as the word @key, or @key if there is
 * none. */
static const char *find_own_key(const struct jp_case_parts *own_parts, const char *key)
{
	for (int i = 0; i < own_parts->counts[2]; i++)
		if (is_same_key(own_parts->words[2][i], key))
			return own_parts->words[2][i];
	return key;
}

/* Writes part number @part of a case's first line. A part that @own_parts lacks comes from
 * @defaults. Keys are merged from both, and those of @own_parts win. */
static void put_part(FILE *out, const struct jp_case_parts *own_parts,
		     const struct jp_case_parts *defaults, int part)
{
	const struct jp_case_parts *source = own_parts->counts[part] ? own_parts : defaults;
	bool keys = part == JP_CASE_PARTS - 1;

	if (keys && !own_parts->counts[part] && !defaults->counts[part])
		return;
	fputs(" :", out);
	for (int i = 0; keys && i < defaults->counts[part]; i++)
		fprintf(out, " %s", find_own_key(own_parts, defaults->words[part][i]));
	for (int i = 0; i < source->counts[part]; i++) {
		const char *word = source->words[part][i];

		if (!keys || (source == own_parts && find_own_key(defaults, word) == word))
			fprintf(out, " %s", word);
	}
}

/* Writes the definition's first line from @words, with the case's full name, and with the parts of
 * the line `defaults` that @words lack. */
static int put_header(struct jp_case_parser *p, char **words, int count)
{
	char *defaults_words[JP_CASE_WORDS], *copy;
	struct jp_case_parts own_parts, defaults = {0};
	int ret = jp_case_split(p, words, 3, count, &own_parts);

	if (!ret && p->defaults.header) {
		copy = jp_case_print(p->cases, "%s", p->defaults.header);
		p->line = p->defaults.line;
		ret = copy ? jp_case_split_words(p, copy, defaults_words) : jp_case_no_memory(p);
		if (ret > 0)
			ret = jp_case_split(p, defaults_words, 1, ret, &defaults);
	}
	if (ret)
		return ret;
	p->line = p->block.line;
	for (int part = 0; part < 2; part++)
		if (!own_parts.counts[part] && !defaults.counts[part])
			return jp_case_refuse(p, "case", words[1], JP_CASE_FORM);
	fprintf(p->out, "case %s%s%s %s", p->study ? p->study : "", p->study ? "/" : "", words[1],
		words[2]);
	for (int part = 0; part < JP_CASE_PARTS; part++)
		put_part(p->out, &own_parts, &defaults, part);
	fputc('\n', p->out);
	return 0;
}

static const struct jp_case_block *find_set(struct jp_case_parser *p, const char *name)
{
	for (size_t i = 0; i < p->nr_sets; i++)
		if (strcmp(p->sets[i].header, name) == 0)
			return &p->sets[i];
	return NULL;
}

static int put_lines(struct jp_case_parser *p, const struct jp_case_block *block, bool set);

/* Adds the indented line @text to the definition and to p->cas. @set: the line is from a block
 * "expect NAME", else from the case or the defaults. */
static int put_line(struct jp_case_parser *p, const char *text, bool set)
{
	char *line = jp_case_replace_axes(p, text), *copy;
	const struct jp_case_block *also;
	int ret = line ? jp_case_parse_where(p, &line) : -EINVAL;

	if (ret <= 0)
		return ret;
	line += strspn(line, " \t");
	copy = jp_case_print(p->cases, "%s", line);
	if (!copy)
		return jp_case_no_memory(p);
	if (p->study && !set && strcmp(line, "...") == 0 && !p->own_keys) {
		p->own_keys = true;
		return put_lines(p, &p->block, false);
	}
	if (p->study && strncmp(line, "also ", 5) == 0) {
		jp_case_cut_comment(copy);
		also = set ? NULL : find_set(p, jp_case_trim(copy + 5));
		return also ? put_lines(p, also, true)
			    : jp_case_refuse(p, "also", copy + 5,
					     "the name of an expect line above");
	}
	fprintf(p->out, "\t%s\n", line);
	if (ftell(p->out) > JP_CASE_TEXT)
		return jp_case_refuse(p, "case", p->cas->name, "at most 65536 bytes of a case");
	return jp_case_expect(p, copy);
}

static int put_lines(struct jp_case_parser *p, const struct jp_case_block *block, bool set)
{
	unsigned line = p->line;
	int ret = 0;

	for (size_t i = 0; !ret && i < block->nr_lines; i++) {
		p->line = block->lines[i].line;
		ret = put_line(p, block->lines[i].text, set);
	}
	if (!ret)
		p->line = line;
	return ret;
}

/* Returns whether the file already defined a case called @name without axes, which replaces the
 * variant of this name. */
static bool is_written_out(struct jp_case_parser *p, const char *name)
{
	const struct jp_cases *cases = p->cases;
	size_t length = strlen(p->study);

	for (size_t i = p->first_case; i < cases->nr_cases; i++)
		if (!cases->cases[i].variant &&
		    strcmp(cases->cases[i].name + length + 1, name) == 0)
			return true;
	return false;
}

/* Writes a case's definition, whose first line has @words, to p->out, a stream to *@text, and
 * parses it into p->cas, a new case. */
static int put_case(struct jp_case_parser *p, char **words, int count, char **text)
{
	static const struct jp_case_block no_block;
	int ret = put_header(p, words, count);
	char *line;

	if (ret || fflush(p->out))
		return ret ? ret : jp_case_no_memory(p);
	p->nr_expectations = 0;
	p->cas = jp_array_push(&p->cases->cases, &p->cases->nr_cases, &p->cases->cases_capacity);
	line = p->cas ? jp_case_print(p->cases, "%s", *text) : NULL;
	if (!line)
		return jp_case_no_memory(p);
	p->cas->variant = p->variants.nr_axes;
	line[strlen(line) - 1] = '\0';
	ret = jp_case_parse_line(p, line);
	p->own_keys = false;
	if (!ret)
		ret = put_lines(p, p->study ? &p->defaults : &no_block, false);
	if (!ret && !p->own_keys)
		ret = put_lines(p, &p->block, false);
	return ret ? ret : jp_case_check_predicted(p);
}

static int keep_expectations(struct jp_case_parser *p, const char *text)
{
	size_t size = p->nr_expectations * sizeof(*p->expectations);

	p->cas->text = jp_case_print(p->cases, "%s", text);
	p->cas->expectations = jp_case_alloc(p->cases, size);
	if (!p->cas->text || !p->cas->expectations)
		return jp_case_no_memory(p);
	memcpy(p->cas->expectations, p->expectations, size);
	p->cas->nr_expectations = p->nr_expectations;
	return 0;
}

/* Checks NAME and SET of a case's first line. */
static int check_names(struct jp_case_parser *p, char **words, int count)
{
	if (count < 3)
		return jp_case_refuse(p, "case", count > 1 ? words[1] : "", JP_CASE_FORM);
	if (!jp_case_name_ok(words[1], !p->study))
		return jp_case_refuse(p, "case name", words[1],
				      p->study ? "letters, digits, . _ + and -" : "STUDY/NAME");
	if (strcmp(words[2], "check") != 0 && strcmp(words[2], "full") != 0)
		return jp_case_refuse(p, "set", words[2], "check or full");
	return 0;
}

static int define_variant(struct jp_case_parser *p)
{
	char *line = jp_case_replace_axes(p, p->block.header), *words[JP_CASE_WORDS];
	int count = line ? jp_case_split_words(p, line, words) : -EINVAL, ret;
	jp_cleanup_free char *text = NULL;
	size_t size;

	ret = count < 0 ? count : check_names(p, words, count);
	if (ret || (p->variants.nr_axes && is_written_out(p, words[1])))
		return ret;
	p->out = open_memstream(&text, &size);
	if (!p->out)
		return jp_case_no_memory(p);
	ret = put_case(p, words, count, &text);
	if (jp_shortage_close(p->out, &text) && !ret)
		ret = jp_case_no_memory(p);
	return ret ? ret : keep_expectations(p, text);
}

int jp_case_define(struct jp_case_parser *p)
{
	int ret;

	p->line = p->block.line;
	ret = jp_case_vary(p, p->block.header);
	if (ret)
		return ret;
	do
		ret = define_variant(p);
	while (!ret && jp_case_next_variant(p));
	return ret;
}
