// SPDX-License-Identifier: GPL-2.0-only
/* Splits lines into words, checks names, and writes error messages. */
#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/case/case_parser.h"

int jp_case_refuse(struct jp_case_parser *p, const char *kind, const char *found,
		   const char *expected)
{
	return jp_fail(p->err, EINVAL, "%s:%u: %s '%s'; expected %s", p->file, p->line, kind, found,
		       expected);
}

int jp_case_no_memory(struct jp_case_parser *p)
{
	return jp_fail(p->err, ENOMEM, "%s:%u: out of memory", p->file, p->line);
}

bool jp_case_name_ok(const char *name, bool slash)
{
	unsigned slashes = 0;

	if (!isalnum((unsigned char)name[0]))
		return false;
	for (const char *c = name; *c; c++) {
		if (*c == '/')
			slashes++;
		else if (!isalnum((unsigned char)*c) && !strchr("._+-", *c))
			return false;
	}
	/* The name becomes a path below the run directory, and must not lead out of it. */
	return slashes == (slash ? 1 : 0) && !strstr(name, "/.") && name[strlen(name) - 1] != '/' &&
	       strlen(name) < 128;
}

char *jp_case_trim(char *text)
{
	char *end;

	while (*text == ' ' || *text == '\t')
		text++;
	end = text + strlen(text);
	while (end > text && (end[-1] == ' ' || end[-1] == '\t'))
		*--end = '\0';
	return text;
}

int jp_case_split_words(struct jp_case_parser *p, char *text, char *words[JP_CASE_WORDS])
{
	char *save;
	int count = 0;

	for (char *word = strtok_r(text, " \t", &save); word; word = strtok_r(NULL, " \t", &save)) {
		if (count == JP_CASE_WORDS)
			return jp_case_refuse(p, "word", word, "at most 64 words");
		words[count++] = word;
	}
	return count;
}

char *jp_case_cut_comment(char *line)
{
	for (char *c = line; *c; c++) {
		if (*c != '#' || (c > line && c[-1] != ' ' && c[-1] != '\t'))
			continue;
		*c = '\0';
		return jp_case_trim(c + 1);
	}
	return "";
}

bool jp_case_records_whole_machine(const struct jp_case *cas)
{
	for (int i = 1; i < cas->capture_argc; i++)
		if (!strcmp(cas->capture_argv[i], "-a") ||
		    !strcmp(cas->capture_argv[i], "--system-wide"))
			return true;
	return false;
}

const char *jp_case_publish_children(const struct jp_case *cas)
{
	static const char option[] = "--publish-children=";

	for (char *const *word = cas->workload_argv; word && *word; word++)
		if (strncmp(*word, option, sizeof(option) - 1) == 0)
			return *word + sizeof(option) - 1;
	return cas->publish;
}

struct jp_case_piece {
	struct jp_case_piece *next;
	_Alignas(16) char bytes[];
};

void *jp_case_alloc(struct jp_cases *cases, size_t size)
{
	struct jp_case_piece *piece = calloc(1, sizeof(*piece) + size);

	if (!piece)
		return NULL;
	piece->next = cases->pieces;
	cases->pieces = piece;
	return piece->bytes;
}

char *jp_case_print(struct jp_cases *cases, const char *fmt, ...)
{
	va_list ap;
	char *text;
	int length;

	va_start(ap, fmt);
	length = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	text = length < 0 ? NULL : jp_case_alloc(cases, (size_t)length + 1);
	if (!text)
		return NULL;
	va_start(ap, fmt);
	vsnprintf(text, (size_t)length + 1, fmt, ap);
	va_end(ap);
	return text;
}

void jp_cases_free(struct jp_cases *cases)
{
	struct jp_case_piece *next;

	if (!cases)
		return;
	for (size_t i = 0; i < cases->nr_tables; i++)
		free(cases->tables[i].rows);
	free(cases->cases);
	free(cases->tables);
	for (struct jp_case_piece *piece = cases->pieces; piece; piece = next) {
		next = piece->next;
		free(piece);
	}
	free(cases);
}
