// SPDX-License-Identifier: GPL-2.0-only
/* The line of a case: what runs, by what it is watched, and keys. docs/expected-format.md. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/case/case.h"
#include "harness/case/case_parser.h"
#include "harness/model/unwind/methods.h"

static bool positive(const char *text, unsigned max, unsigned *value)
{
	char *end;
	unsigned long number;

	if (!isdigit((unsigned char)text[0]))
		return false;
	errno = 0;
	number = strtoul(text, &end, 10);
	*value = (unsigned)number;
	return !errno && *end == '\0' && number >= 1 && number <= max;
}

static int key_value(struct jp_case_parser *p, char *word)
{
	char *value = strchr(word, '='), *command, *blank;
	struct jp_case *cas = p->cas;

	if (!value)
		return jp_case_bad(p, "word", word, "KEY=VALUE");
	*value++ = '\0';
	if (strcmp(word, "samples") == 0) {
		if (!positive(value, 10000000, &cas->samples))
			return jp_case_bad(p, "samples", value, "a number of at least 1");
	} else if (strcmp(word, "seconds") == 0) {
		if (!positive(value, 3600, &cas->seconds))
			return jp_case_bad(p, "seconds", value, "a number from 1 to 3600");
	} else if (strcmp(word, "distinct") == 0) {
		if (!positive(value, 1000000, &cas->distinct))
			return jp_case_bad(p, "distinct", value, "a number of at least 1");
	} else if (strcmp(word, "inside") == 0) {
		if (!positive(value, 8, &cas->inside))
			return jp_case_bad(p, "inside", value, "a number from 1 to 8");
	} else if (strcmp(word, "control") == 0) {
		if (strcmp(value, "pathless") == 0)
			cas->control = JP_LEFT_PATHLESS;
		else if (strcmp(value, "window") == 0)
			cas->control = JP_LEFT_WINDOW;
		else if (strcmp(value, "gate") == 0)
			cas->control = JP_LEFT_GATE;
		else
			return jp_case_bad(p, "control", value, "pathless, window or gate");
	} else if (strcmp(word, "publish") == 0) {
		cas->publish = value;
	} else if (strcmp(word, "inject") == 0) {
		if (!jp_case_name_ok(value, false))
			return jp_case_bad(p, "inject", value,
					   "keep, strip, cut or the name of a profiler");
		cas->inject = value;
	} else if (strcmp(word, "methods") == 0) {
		cas->methods = jp_methods_parse(value);
		if (!cas->methods)
			return jp_case_bad(p, "methods", value,
					   "chain, dump, dump_fp, dump_cfi, with commas");
	} else if (strcmp(word, "at") == 0) {
		command = strchr(value, ':');
		if (!command || command == value || !command[1])
			return jp_case_bad(p, "at", value, "BOUNDARY:COMMAND");
		*command++ = '\0';
		cas->step.boundary = value;
		/* "at=before-open:map=4096" steps "map 4096". */
		blank = strchr(command, '=');
		if (blank)
			*blank = ' ';
		cas->step.command = command;
	} else {
		return jp_case_bad(p, "key", word,
				   "samples, distinct, seconds, inside, control, publish, inject, "
				   "methods or at");
	}
	return 0;
}

/* A NULL-terminated copy of @words in the store. */
static char **word_list(struct jp_case_parser *p, char **words, int count)
{
	char **list = jp_case_store_alloc(p->store, ((size_t)count + 1) * sizeof(*list));

	if (list && count)
		memcpy(list, words, (size_t)count * sizeof(*list));
	return list;
}

/* @name in full */
static int case_name(struct jp_case_parser *p, const char *name, struct jp_case *cas)
{
	if (!jp_case_name_ok(name, true))
		return jp_case_bad(p, "case name", name, "STUDY/NAME");
	cas->name = name;
	cas->study = jp_case_store_print(p->store, "%.*s", (int)strcspn(name, "/"), name);
	return cas->study ? 0 : jp_case_no_memory(p);
}

static const char form[] =
	"case NAME check|full : WORKLOAD [ARG...] : CAPTURE [ARG...] [: KEY=VALUE...]";

/* The words of a header behind `from`: its parts, between words ":". */
struct parts {
	char **words[JP_CASE_PARTS];
	int counts[JP_CASE_PARTS];
};

static int split(struct jp_case_parser *p, char **words, int from, int count, struct parts *parts)
{
	int at = -1;

	memset(parts, 0, sizeof(*parts));
	for (int i = from; i < count; i++) {
		if (strcmp(words[i], ":") == 0) {
			if (++at == JP_CASE_PARTS)
				return jp_case_bad(p, "fourth", ":", form);
			parts->words[at] = words + i + 1;
		} else if (at < 0) {
			return jp_case_bad(p, words[0], words[i], form);
		} else {
			parts->counts[at]++;
		}
	}
	return 0;
}

static bool same_key(const char *a, const char *b)
{
	size_t length = strcspn(a, "=");

	return strncmp(a, b, length + 1) == 0;
}

/* The key of @ours that @key is too, or @key. */
static const char *own_key(const struct parts *ours, const char *key)
{
	for (int i = 0; i < ours->counts[2]; i++)
		if (same_key(ours->words[2][i], key))
			return ours->words[2][i];
	return key;
}

/* The part @at: of @ours, else of @defaults; of keys both. */
static void put_part(FILE *out, const struct parts *ours, const struct parts *defaults, int at)
{
	const struct parts *from = ours->counts[at] ? ours : defaults;
	bool keys = at == JP_CASE_PARTS - 1;

	if (keys && !ours->counts[at] && !defaults->counts[at])
		return;
	fputs(" :", out);
	for (int i = 0; keys && i < defaults->counts[at]; i++)
		fprintf(out, " %s", own_key(ours, defaults->words[at][i]));
	for (int i = 0; i < from->counts[at]; i++) {
		const char *word = from->words[at][i];

		if (!keys || (from == ours && own_key(defaults, word) == word))
			fprintf(out, " %s", word);
	}
}

/* The definition's first line, complete: the name in full, and what `defaults` has of the rest. */
static int put_header(struct jp_case_parser *p, FILE *out, char **words, int count)
{
	char *defaults_words[JP_CASE_WORDS], *copy;
	struct parts ours, defaults = {0};
	int ret = split(p, words, 3, count, &ours);

	if (!ret && p->defaults.header) {
		copy = jp_case_store_print(p->store, "%s", p->defaults.header);
		p->line = p->defaults.line;
		ret = copy ? jp_case_words(p, copy, defaults_words) : jp_case_no_memory(p);
		if (ret > 0)
			ret = split(p, defaults_words, 1, ret, &defaults);
	}
	if (ret)
		return ret;
	p->line = p->block.line;
	for (int at = 0; at < 2; at++)
		if (!ours.counts[at] && !defaults.counts[at])
			return jp_case_bad(p, "case", words[1], form);
	fprintf(out, "case %s%s%s %s", p->study ? p->study : "", p->study ? "/" : "", words[1],
		words[2]);
	for (int at = 0; at < JP_CASE_PARTS; at++)
		put_part(out, &ours, &defaults, at);
	fputc('\n', out);
	return 0;
}

/* A complete line: case STUDY/NAME SET : WORKLOAD [ARG...] : CAPTURE [ARG...] [: KEY=VALUE...] */
static int case_line(struct jp_case_parser *p, char *line)
{
	char *words[JP_CASE_WORDS];
	int count = jp_case_words(p, line, words), ret;
	struct jp_case *cas = p->cas;
	struct parts parts;

	ret = count < 0 ? count : split(p, words, 3, count, &parts);
	if (!ret)
		ret = case_name(p, words[1], cas);
	if (ret)
		return ret;
	cas->file = p->file;
	cas->line = p->line;
	cas->samples = 2000;
	cas->distinct = 10;
	cas->seconds = 30;
	cas->check = strcmp(words[2], "check") == 0;
	cas->workload_argc = parts.counts[0];
	cas->workload_argv = word_list(p, parts.words[0], cas->workload_argc);
	cas->capture_argc = parts.counts[1];
	cas->capture_argv = word_list(p, parts.words[1], cas->capture_argc);
	if (!cas->workload_argv || !cas->capture_argv)
		return jp_case_no_memory(p);
	for (int i = 0; i < parts.counts[2]; i++) {
		ret = key_value(p, parts.words[2][i]);
		if (ret)
			return ret;
	}
	return 0;
}

static const struct jp_case_block *find_set(struct jp_case_parser *p, const char *name)
{
	for (size_t i = 0; i < p->nr_sets; i++)
		if (strcmp(p->sets[i].header, name) == 0)
			return &p->sets[i];
	return NULL;
}

static int put_lines(struct jp_case_parser *p, FILE *out, const struct jp_case_variants *variants,
		     const struct jp_case_block *block, bool set);

/* One indented line of a case, a set or the defaults: into @out, and into p->cas. */
static int put_line(struct jp_case_parser *p, FILE *out, const struct jp_case_variants *variants,
		    const char *written, bool set)
{
	char *line = jp_case_replace_axes(p, variants, written), *copy;
	const struct jp_case_block *also;
	int ret = line ? jp_case_where(p, variants, &line) : -EINVAL;

	if (ret <= 0)
		return ret;
	line += strspn(line, " \t");
	copy = jp_case_store_print(p->store, "%s", line);
	if (!copy)
		return jp_case_no_memory(p);
	if (p->study && strncmp(line, "also ", 5) == 0) {
		jp_case_cut_comment(copy);
		also = set ? NULL : find_set(p, jp_case_trim(copy + 5));
		return also ? put_lines(p, out, variants, also, true)
			    : jp_case_bad(p, "also", copy + 5, "the name of an expect line above");
	}
	fprintf(out, "\t%s\n", line);
	if (ftell(out) > JP_CASE_TEXT)
		return jp_case_bad(p, "case", p->cas->name, "at most 65536 bytes of a case");
	return jp_case_expect(p, copy);
}

static int put_lines(struct jp_case_parser *p, FILE *out, const struct jp_case_variants *variants,
		     const struct jp_case_block *block, bool set)
{
	unsigned line = p->line;
	int ret = 0;

	for (size_t i = 0; !ret && i < block->nr_lines; i++) {
		p->line = block->lines[i].line;
		ret = put_line(p, out, variants, block->lines[i].text, set);
	}
	if (!ret)
		p->line = line;
	return ret;
}

/* Whether a case of this name is written out above: it takes the place of the variant. */
static bool written_out(struct jp_case_parser *p, const char *name)
{
	const struct jp_cases *cases = &p->store->cases;
	size_t length = strlen(p->study);

	for (size_t i = p->first_case; i < cases->nr_cases; i++)
		if (!cases->cases[i].variant &&
		    strcmp(cases->cases[i].name + length + 1, name) == 0)
			return true;
	return false;
}

/* The case of p->block whose first line consists of @words, into the store and into @out, which
 * flushes to *@text. */
static int put_case(struct jp_case_parser *p, FILE *out, const struct jp_case_variants *variants,
		    char **words, int count, char **text)
{
	static const struct jp_case_block none;
	int ret = put_header(p, out, words, count);
	char *line;

	if (ret || fflush(out))
		return ret ? ret : jp_case_no_memory(p);
	p->cas = jp_case_store_case(p->store);
	line = p->cas ? jp_case_store_print(p->store, "%s", *text) : NULL;
	if (!line)
		return jp_case_no_memory(p);
	p->cas->variant = variants->nr_axes;
	line[strlen(line) - 1] = '\0';
	ret = case_line(p, line);
	if (!ret)
		ret = put_lines(p, out, variants, p->study ? &p->defaults : &none, false);
	return ret ? ret : put_lines(p, out, variants, &p->block, false);
}

static int one_variant(struct jp_case_parser *p, const struct jp_case_variants *variants)
{
	char *line = jp_case_replace_axes(p, variants, p->block.header), *words[JP_CASE_WORDS];
	int count = line ? jp_case_words(p, line, words) : -EINVAL, ret;
	char *text = NULL;
	size_t size;
	FILE *out;

	if (count < 0)
		return count;
	if (variants->nr_axes && ++p->made > JP_CASE_VARIANTS)
		return jp_case_bad(p, "case", p->block.header, "at most 4096 variants in a file");
	if (count < 3)
		return jp_case_bad(p, "case", count > 1 ? words[1] : "", form);
	if (!jp_case_name_ok(words[1], !p->study))
		return jp_case_bad(p, "case name", words[1],
				   p->study ? "letters, digits, . _ + and -" : "STUDY/NAME");
	if (strcmp(words[2], "check") != 0 && strcmp(words[2], "full") != 0)
		return jp_case_bad(p, "set", words[2], "check or full");
	if (variants->nr_axes && written_out(p, words[1]))
		return 0;
	out = open_memstream(&text, &size);
	if (!out)
		return jp_case_no_memory(p);
	ret = put_case(p, out, variants, words, count, &text);
	if (fclose(out) && !ret)
		ret = jp_case_no_memory(p);
	if (!ret) {
		p->cas->text = jp_case_store_print(p->store, "%s", text);
		ret = p->cas->text ? 0 : jp_case_no_memory(p);
	}
	free(text);
	return ret;
}

int jp_case_define(struct jp_case_parser *p)
{
	struct jp_case_variants variants;
	int ret;

	p->line = p->block.line;
	ret = jp_case_vary(p, p->block.header, &variants);
	if (ret)
		return ret;
	do
		ret = one_variant(p, &variants);
	while (!ret && jp_case_next_variant(&variants));
	return ret;
}
