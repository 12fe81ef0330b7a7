// SPDX-License-Identifier: GPL-2.0-only
/* The parser of results/expected/STUDY: docs/expected-format.md. */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/case/case.h"
#include "harness/case/case_parser.h"
#include "harness/model/unwind/methods.h"

int jp_case_bad(struct jp_case_parser *p, const char *what, const char *found, const char *expected)
{
	return jp_fail(p->err, EINVAL, "%s:%u: %s '%s'; expected %s", p->file, p->line, what, found,
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
	/* A name becomes a path below the run directory: it must stay there. */
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

/* One bound of a range: a number, maybe with %. */
static bool number(const char *text, double *value, bool *percent)
{
	char *end;

	if (!isdigit((unsigned char)text[0]))
		return false;
	errno = 0;
	*value = strtod(text, &end);
	*percent = *end == '%';
	if (*percent)
		end++;
	return !errno && *end == '\0' && isfinite(*value) && (!*percent || *value <= 100);
}

/* RANGE: "any", "=X", "<=X", ">=X", "X..Y"; numbers, or percentages on both sides. */
static bool range(char *text, struct jp_expectation *e)
{
	char *dots = strstr(text, "..");
	bool percent = false;

	e->min = -INFINITY;
	e->max = INFINITY;
	if (strcmp(text, "any") == 0)
		return true;
	if (strncmp(text, "<=", 2) == 0) {
		if (!number(text + 2, &e->max, &e->percent))
			return false;
	} else if (strncmp(text, ">=", 2) == 0) {
		if (!number(text + 2, &e->min, &e->percent))
			return false;
	} else if (text[0] == '=') {
		if (!number(text + 1, &e->min, &e->percent))
			return false;
		e->max = e->min;
	} else if (dots) {
		*dots = '\0';
		if (!number(text, &e->min, &percent) || !number(dots + 2, &e->max, &e->percent))
			return false;
		if ((percent && !e->percent) || e->min > e->max)
			return false;
	} else {
		return false;
	}
	if (e->percent) {
		e->min /= 100;
		e->max /= 100;
	}
	return true;
}

static int add_expectation(struct jp_case_parser *p, const struct jp_expectation *e)
{
	struct jp_case *cas = p->cas;
	struct jp_expectation *grown;

	for (size_t i = 0; i < cas->nr_expectations; i++)
		if (strcmp(cas->expectations[i].metric, e->metric) == 0 &&
		    strcmp(cas->expectations[i].allow, e->allow) == 0 &&
		    memcmp(&cas->expectations[i].scope, &e->scope, sizeof(e->scope)) == 0)
			return jp_case_bad(p, "second expectation of", e->metric,
					   "one of each metric");
	if (cas->nr_expectations == JP_MAX_EXPECTATIONS)
		return jp_case_bad(p, "expectation", e->metric, "at most 64 of one case");
	grown = realloc(cas->expectations, (cas->nr_expectations + 1) * sizeof(*grown));
	if (!grown)
		return jp_case_no_memory(p);
	cas->expectations = grown;
	grown[cas->nr_expectations++] = *e;
	return 0;
}

/* "METRIC RANGE" or "METRIC allow CAUSE" of an indented line. */
static int one_expectation(struct jp_case_parser *p, char *text, const struct jp_scope *scope,
			   const char *reason)
{
	struct jp_expectation e = {
		.min = -INFINITY, .max = INFINITY, .reason = reason, .scope = *scope};
	char *save, *metric = strtok_r(text, " \t", &save), *what, *cause, *more;

	what = metric ? strtok_r(NULL, " \t", &save) : NULL;
	cause = what ? strtok_r(NULL, " \t", &save) : NULL;
	more = cause ? strtok_r(NULL, " \t", &save) : NULL;
	if (!what || more)
		return jp_case_bad(p, "expectation", metric ? metric : "",
				   "METRIC RANGE or METRIC allow CAUSE");
	if (!jp_case_name_ok(metric, false) || strlen(metric) >= sizeof(e.metric))
		return jp_case_bad(p, "metric", metric,
				   "a name of at most 47 letters, digits, . and -");
	strcpy(e.metric, metric);
	if (strcmp(what, "allow") == 0) {
		if (!cause || !jp_case_name_ok(cause, false) || strlen(cause) >= sizeof(e.allow))
			return jp_case_bad(p, "cause", cause ? cause : "", "one cause after allow");
		if (!reason[0])
			return jp_case_bad(p, "allow", cause, "a reason after #");
		strcpy(e.allow, cause);
	} else if (cause || !range(what, &e)) {
		return jp_case_bad(p, "range", what,
				   "=X, <=X, >=X, X..Y or any (X: a count, or a percentage)");
	}
	return add_expectation(p, &e);
}

/* "when TOOL VERSIONS: " before expectations; *@text moves behind it. */
static int take_scope(struct jp_case_parser *p, char **text, struct jp_scope *scope)
{
	char *colon = strchr(*text, ':'), *save, *tool, *range, *more;

	if (!colon)
		return jp_case_bad(p, "line", *text, "when TOOL VERSIONS: METRIC ...");
	*colon = '\0';
	strtok_r(*text, " \t", &save);
	tool = strtok_r(NULL, " \t", &save);
	range = tool ? strtok_r(NULL, " \t", &save) : NULL;
	more = range ? strtok_r(NULL, " \t", &save) : NULL;
	if (!range || more || !jp_scope_parse(tool, range, scope))
		return jp_case_bad(p, "scope", range ? range : "",
				   "when TOOL VERSIONS:, the versions X..Y, X.., ..Y or X");
	*text = colon + 1;
	return 0;
}

static int indented(struct jp_case_parser *p, char *text, const char *reason)
{
	struct jp_scope scope = {0};
	char *save, *part;

	if (!p->cas)
		return jp_case_bad(p, "indented line", text, "a case above it");
	if (strcmp(text, "xfail") == 0) {
		if (!reason[0])
			return jp_case_bad(p, "line", text, "a reason after #");
		p->cas->xfail = reason;
		return 0;
	}
	if (strncmp(text, "when ", 5) == 0 && take_scope(p, &text, &scope))
		return -EINVAL;
	for (part = strtok_r(text, ",", &save); part; part = strtok_r(NULL, ",", &save)) {
		int ret = one_expectation(p, part, &scope, reason);

		if (ret)
			return ret;
	}
	return 0;
}

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

static int case_name(struct jp_case_parser *p, const char *name, struct jp_case *cas)
{
	size_t length;

	if (!jp_case_name_ok(name, !p->study))
		return jp_case_bad(p, "case name", name,
				   p->study ? "letters, digits, . _ + and -" : "STUDY/NAME");
	if (p->study) {
		cas->study = p->study;
		cas->name = jp_case_store_print(p->store, "%s/%s", p->study, name);
		return cas->name ? 0 : jp_case_no_memory(p);
	}
	length = (size_t)(strchr(name, '/') - name);
	cas->name = name;
	cas->study = jp_case_store_print(p->store, "%.*s", (int)length, name);
	return cas->study ? 0 : jp_case_no_memory(p);
}

/* case NAME SET : WORKLOAD [ARG...] : CAPTURE [ARG...] [: KEY=VALUE...] */
static int case_line(struct jp_case_parser *p, char **words, int count)
{
	static const char form[] =
		"case NAME check|full : WORKLOAD [ARG...] : CAPTURE [ARG...] [: KEY=VALUE...]";
	int colons[3] = {0}, nr_colons = 0, ret;
	struct jp_case *cas;

	p->table = NULL;
	for (int i = 0; i < count; i++) {
		if (strcmp(words[i], ":") != 0)
			continue;
		if (nr_colons == 3)
			return jp_case_bad(p, "fourth", ":", form);
		colons[nr_colons++] = i;
	}
	if (nr_colons == 2)
		colons[nr_colons++] = count;
	if (nr_colons != 3 || colons[0] != 3 || colons[1] - colons[0] < 2 ||
	    colons[2] - colons[1] < 2)
		return jp_case_bad(p, "case", count > 1 ? words[1] : "", form);
	cas = jp_case_store_case(p->store);
	if (!cas)
		return jp_case_no_memory(p);
	p->cas = cas;
	cas->file = p->file;
	cas->line = p->line;
	cas->samples = 2000;
	cas->distinct = 10;
	cas->seconds = 30;
	ret = case_name(p, words[1], cas);
	if (ret)
		return ret;
	if (strcmp(words[2], "check") != 0 && strcmp(words[2], "full") != 0)
		return jp_case_bad(p, "set", words[2], "check or full");
	cas->check = words[2][0] == 'c';
	cas->workload_argc = colons[1] - colons[0] - 1;
	cas->workload_argv = word_list(p, words + colons[0] + 1, cas->workload_argc);
	cas->capture_argc = colons[2] - colons[1] - 1;
	cas->capture_argv = word_list(p, words + colons[1] + 1, cas->capture_argc);
	if (!cas->workload_argv || !cas->capture_argv)
		return jp_case_no_memory(p);
	for (int i = colons[2] + 1; i < count; i++) {
		ret = key_value(p, words[i]);
		if (ret)
			return ret;
	}
	return 0;
}

static int one_line(struct jp_case_parser *p, char *line)
{
	char *reason = "", *words[JP_CASE_WORDS], *save, *word;
	bool inside = line[0] == ' ' || line[0] == '\t';
	int count = 0;

	for (char *c = line; *c; c++) {
		if (*c != '#' || (c > line && c[-1] != ' ' && c[-1] != '\t'))
			continue;
		*c = '\0';
		reason = jp_case_trim(c + 1);
		break;
	}
	line = jp_case_trim(line);
	if (!line[0])
		return 0;
	if (inside)
		return indented(p, line, reason);
	if (strncmp(line, "table ", 6) == 0)
		return jp_case_table_line(p, line + 6, false);
	if (strncmp(line, "row ", 4) == 0)
		return jp_case_table_line(p, line + 4, true);
	for (word = strtok_r(line, " \t", &save); word; word = strtok_r(NULL, " \t", &save)) {
		if (count == JP_CASE_WORDS)
			return jp_case_bad(p, "word", word, "at most 64 words");
		words[count++] = word;
	}
	if (!count || strcmp(words[0], "case") != 0)
		return jp_case_bad(p, "word", line,
				   "case, table, row, a comment or an indented line");
	return case_line(p, words, count);
}

/* Keeps the definition as written, with the full name: what makes a run directory stand alone. */
static int keep_text(struct jp_case_parser *p, struct jp_case *cas, const char *from,
		     const char *to)
{
	const char *rest = from + strlen("case");

	rest += strspn(rest, " \t");
	rest += strlen(cas->name) - (p->study ? strlen(p->study) + 1 : 0);
	cas->text = jp_case_store_print(p->store, "case %s%.*s", cas->name, (int)(to - rest), rest);
	return cas->text ? 0 : jp_case_no_memory(p);
}

struct jp_cases *jp_cases_parse(struct jp_cases *into, const char *file, const char *study,
				const char *text, size_t size, struct jp_error *err)
{
	struct jp_case_store *store = into ? jp_case_store_of(into) : jp_case_store_new();
	struct jp_case_parser p = {.store = store, .err = err};
	const char *end = text + size, *next, *start = NULL, *until = NULL;
	size_t open = 0;
	int ret = 0;

	if (!store) {
		jp_fail(err, ENOMEM, "%s: out of memory", file);
		return NULL;
	}
	p.file = jp_case_store_print(store, "%s", file);
	p.study = study ? jp_case_store_print(store, "%s", study) : NULL;
	if (!p.file || (study && !p.study))
		ret = jp_fail(err, ENOMEM, "%s: out of memory", file);
	else if (study && !jp_case_name_ok(study, false))
		ret = jp_fail(err, EINVAL, "%s: '%s' is no name of a study", file, study);
	for (const char *at = text; !ret && at < end; at = next) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));
		size_t length = (size_t)((newline ? newline : end) - at);
		size_t cases = store->cases.nr_cases;
		char *line;

		next = newline ? newline + 1 : end;
		p.line++;
		if (length > 4096 || memchr(at, '\0', length)) {
			ret = jp_case_bad(&p, "line", "(binary?)",
					  "text of at most 4096 bytes a line");
			break;
		}
		line = jp_case_store_print(store, "%.*s", (int)length, at);
		ret = line ? one_line(&p, line) : jp_case_no_memory(&p);
		if (ret)
			break;
		if (start && (store->cases.nr_cases > cases || !p.cas)) {
			ret = keep_text(&p, &store->cases.cases[open], start, until);
			start = NULL;
		}
		if (store->cases.nr_cases > cases) {
			open = cases;
			start = at;
		}
		/* Blank lines and comments in column one after the last line are not the case's. */
		if (start && (at == start || *at == '\t' || *at == ' '))
			until = next;
	}
	if (!ret && start)
		ret = keep_text(&p, &store->cases.cases[open], start, until);
	if (!ret)
		return &store->cases;
	jp_cases_free(&store->cases);
	return NULL;
}
