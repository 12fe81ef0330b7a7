// SPDX-License-Identifier: GPL-2.0-only
/* Parses the first line of a case: workload, capture and keys (docs/expected-format.md). */
#include <string.h>

#include "harness/base/number.h"
#include "harness/case/case_parser.h"
#include "harness/model/unwind/methods.h"

static char **store_words(struct jp_case_parser *p, char **words, int count)
{
	char **list = jp_case_alloc(p->cases, ((size_t)count + 1) * sizeof(*list));

	if (list && count)
		memcpy(list, words, (size_t)count * sizeof(*list));
	return list;
}

/* Parses the value of inject=: "strip", "perf" or "perf,OPTION,OPTION". */
static int parse_injector(struct jp_case_parser *p, char *value)
{
	char *words[JP_CASE_WORDS], *tail = strchr(value, ',');
	int count = 0;

	if (tail)
		*tail++ = '\0';
	if (!jp_case_name_ok(value, false))
		return jp_case_refuse(p, "inject", value,
				      "keep, strip, cut or the name of a profiler");
	p->cas->inject = value;
	if (!tail)
		return 0;
	for (char *word; (word = strsep(&tail, ",")) && count < JP_CASE_WORDS; count++) {
		if (*word != '-')
			return jp_case_refuse(p, "inject", word, "an option after each comma");
		words[count] = word;
	}
	p->cas->inject_with = store_words(p, words, count);
	return p->cas->inject_with ? 0 : jp_case_no_memory(p);
}

/* Parses the value of acts=: KIND:N, a number of acts that the workload must perform. */
static int parse_acts(struct jp_case_parser *p, char *value)
{
	char *number = strchr(value, ':');
	uint64_t count;

	if (number)
		*number++ = '\0';
	for (enum jp_act act = 0; number && act < JP_ACTS; act++) {
		if (strcmp(value, jp_act_text[act]) != 0 || !jp_number(number, 1, 1000000, &count))
			continue;
		p->cas->acts.act = act;
		p->cas->acts.count = (unsigned)count;
		return 0;
	}
	return jp_case_refuse(
		p, "acts", value,
		"KIND:N; KIND is process, exec, thread, map, protect, remap, unmap, load, "
		"move, unload or enter");
}

static int parse_key_value(struct jp_case_parser *p, char *word)
{
	struct jp_case *cas = p->cas;
	const struct {
		const char *key;
		unsigned max, *destination;
		const char *expected;
	} numbers[] = {
		{"samples", 10000000, &cas->samples, "a number of at least 1"},
		{"seconds", 3600, &cas->seconds, "a number from 1 to 3600"},
		{"distinct", 1000000, &cas->distinct, "a number of at least 1"},
		{"inside", 8, &cas->nr_namespaces, "a number from 1 to 8"},
	};
	char *value = strchr(word, '='), *command, *blank;
	uint64_t number;

	if (!value)
		return jp_case_refuse(p, "word", word, "KEY=VALUE");
	*value++ = '\0';
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		if (strcmp(word, numbers[i].key) != 0)
			continue;
		if (!jp_number(value, 1, numbers[i].max, &number))
			return jp_case_refuse(p, word, value, numbers[i].expected);
		*numbers[i].destination = (unsigned)number;
		return 0;
	}
	if (strcmp(word, "control") == 0) {
		if (!jp_case_name_ok(value, false))
			return jp_case_refuse(p, "control", value, "the name of a control");
		cas->control = value;
	} else if (strcmp(word, "program") == 0) {
		if (!jp_case_name_ok(value, false))
			return jp_case_refuse(p, "program", value, "NAME of jitproof-NAME");
		cas->program = value;
	} else if (strcmp(word, "publish") == 0) {
		cas->publish = value;
	} else if (strcmp(word, "inject") == 0) {
		return parse_injector(p, value);
	} else if (strcmp(word, "acts") == 0) {
		return parse_acts(p, value);
	} else if (strcmp(word, "methods") == 0) {
		cas->methods = jp_methods_parse(value);
		if (!cas->methods)
			return jp_case_refuse(p, "methods", value,
					      "chain, dump, dump_fp, dump_cfi, with commas");
	} else if (strcmp(word, "at") == 0) {
		command = strchr(value, ':');
		if (!command || command == value || !command[1])
			return jp_case_refuse(p, "at", value, "BOUNDARY:STEP");
		*command++ = '\0';
		cas->step.boundary = value;
		/* "at=before-open:map=4096" sends the step "map 4096". */
		blank = strchr(command, '=');
		if (blank)
			*blank = ' ';
		cas->step.command = command;
	} else {
		return jp_case_refuse(p, "key", word,
				      "samples, distinct, acts, seconds, inside, control, program, "
				      "publish, inject, methods or at");
	}
	return 0;
}

static int store_name(struct jp_case_parser *p, const char *name, struct jp_case *cas)
{
	if (!jp_case_name_ok(name, true))
		return jp_case_refuse(p, "case name", name, "STUDY/NAME");
	cas->name = name;
	cas->study = jp_case_print(p->cases, "%.*s", (int)strcspn(name, "/"), name);
	return cas->study ? 0 : jp_case_no_memory(p);
}

int jp_case_split(struct jp_case_parser *p, char **words, int first, int count,
		  struct jp_case_parts *parts)
{
	int part = -1;

	memset(parts, 0, sizeof(*parts));
	for (int i = first; i < count; i++) {
		if (strcmp(words[i], ":") == 0) {
			if (++part == JP_CASE_PARTS)
				return jp_case_refuse(p, "fourth", ":", JP_CASE_FORM);
			parts->words[part] = words + i + 1;
		} else if (part < 0) {
			return jp_case_refuse(p, words[0], words[i], JP_CASE_FORM);
		} else {
			parts->counts[part]++;
		}
	}
	return 0;
}

int jp_case_parse_line(struct jp_case_parser *p, char *line)
{
	char *words[JP_CASE_WORDS];
	int count = jp_case_split_words(p, line, words), ret;
	struct jp_case *cas = p->cas;
	struct jp_case_parts parts;

	ret = count < 0 ? count : jp_case_split(p, words, 3, count, &parts);
	if (!ret)
		ret = store_name(p, words[1], cas);
	if (ret)
		return ret;
	cas->file = p->file;
	cas->line = p->line;
	cas->samples = 2000;
	cas->distinct = 10;
	cas->seconds = 30;
	cas->check = strcmp(words[2], "check") == 0;
	cas->workload_argc = parts.counts[0];
	cas->workload_argv = store_words(p, parts.words[0], cas->workload_argc);
	cas->capture_argc = parts.counts[1];
	cas->capture_argv = store_words(p, parts.words[1], cas->capture_argc);
	if (!cas->workload_argv || !cas->capture_argv)
		return jp_case_no_memory(p);
	for (int i = 0; i < parts.counts[2]; i++) {
		ret = parse_key_value(p, parts.words[2][i]);
		if (ret)
			return ret;
	}
	return 0;
}
