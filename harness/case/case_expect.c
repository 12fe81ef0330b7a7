// SPDX-License-Identifier: GPL-2.0-only
/* Parses the indented lines of a case, which are its expectations (docs/expected-format.md). */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <string.h>

#include "harness/base/number.h"
#include "harness/case/case_parser.h"
#include "harness/model/causes/causes.h"

/* Parses one bound of a range: a number, with or without %. */
static bool parse_bound(const char *text, double *value, bool *percent)
{
	if (!jp_number_take_real(&text, value))
		return false;
	*percent = *text == '%';
	return !text[*percent] && (!*percent || *value <= 100);
}

/* Parses RANGE: "any", "=X", "<=X", ">=X", "X..Y"; numbers, or percentages on both sides. */
static bool parse_range(char *text, struct jp_expectation *e)
{
	char *dots = strstr(text, "..");
	bool percent = false, is_valid = false;

	e->min = -INFINITY;
	e->max = INFINITY;
	if (strcmp(text, "any") == 0)
		return true;
	if (strncmp(text, "<=", 2) == 0) {
		is_valid = parse_bound(text + 2, &e->max, &e->percent);
	} else if (strncmp(text, ">=", 2) == 0) {
		is_valid = parse_bound(text + 2, &e->min, &e->percent);
	} else if (text[0] == '=') {
		is_valid = parse_bound(text + 1, &e->min, &e->percent);
		e->max = e->min;
	} else if (dots) {
		*dots = '\0';
		is_valid = parse_bound(text, &e->min, &percent);
		*dots = '.'; /* restore the range for error messages */
		is_valid = is_valid && parse_bound(dots + 2, &e->max, &e->percent) &&
			   (!percent || e->percent) && e->min <= e->max;
	}
	if (is_valid && e->percent) {
		e->min /= 100;
		e->max /= 100;
	}
	return is_valid;
}

static int add_expectation(struct jp_case_parser *p, const struct jp_expectation *e)
{
	for (size_t i = 0; i < p->nr_expectations; i++)
		if (strcmp(p->expectations[i].metric, e->metric) == 0 &&
		    strcmp(p->expectations[i].allow, e->allow) == 0 &&
		    memcmp(&p->expectations[i].scope, &e->scope, sizeof(e->scope)) == 0)
			return jp_case_refuse(p, "second expectation of", e->metric,
					      "each metric once");
	if (p->nr_expectations == JP_MAX_EXPECTATIONS)
		return jp_case_refuse(p, "expectation", e->metric, "at most 64 of one case");
	p->expectations[p->nr_expectations++] = *e;
	return 0;
}

#define BOUNDS "=X, <=X, X..Y (X: a count, or a percentage below 100), <=METRIC or predicted"

/* Parses CAUSE and BOUND of "METRIC allow CAUSE BOUND". */
static int parse_allowance(struct jp_case_parser *p, const char *cause, char *bound,
			   struct jp_expectation *e)
{
	if (!cause || !jp_case_name_ok(cause, false) || strlen(cause) >= sizeof(e->allow))
		return jp_case_refuse(p, "cause", cause ? cause : "", "one cause after allow");
	if (!e->reason[0])
		return jp_case_refuse(p, "allow", cause, "a reason after #");
	strcpy(e->allow, cause);
	if (!bound)
		return p->study ? jp_case_refuse(p, "allow", cause, "a bound: " BOUNDS) : 0;
	if (strcmp(bound, "predicted") == 0) {
		e->is_predicted = true;
		return 0;
	}
	if (strncmp(bound, "<=", 2) == 0 && islower((unsigned char)bound[2]) &&
	    jp_case_name_ok(bound + 2, false) && strlen(bound + 2) < sizeof(e->limit)) {
		strcpy(e->limit, bound + 2);
		return 0;
	}
	if (!parse_range(bound, e) || isinf(e->max) || (e->percent && e->max >= 1 && e->min < 1))
		return jp_case_refuse(p, "bound", bound, BOUNDS);
	return 0;
}

/* Parses "METRIC RANGE" or "METRIC allow CAUSE BOUND". */
static int parse_expectation(struct jp_case_parser *p, char *text, const struct jp_scope *scope,
			     const char *reason)
{
	struct jp_expectation e = {.min = -INFINITY,
				   .max = INFINITY,
				   .reason = reason,
				   .scope = *scope,
				   .line = p->line};
	char *save, *metric = strtok_r(text, " \t", &save), *relation, *cause, *bound, *extra_word;
	int ret;

	relation = metric ? strtok_r(NULL, " \t", &save) : NULL;
	cause = relation ? strtok_r(NULL, " \t", &save) : NULL;
	bound = cause ? strtok_r(NULL, " \t", &save) : NULL;
	extra_word = bound ? strtok_r(NULL, " \t", &save) : NULL;
	if (!relation || extra_word)
		return jp_case_refuse(p, "expectation", metric ? metric : "",
				      "METRIC RANGE or METRIC allow CAUSE BOUND");
	if (!jp_case_name_ok(metric, false) || strlen(metric) >= sizeof(e.metric))
		return jp_case_refuse(p, "metric", metric,
				      "a name of at most 47 letters, digits, . and -");
	strcpy(e.metric, metric);
	if (strcmp(relation, "allow") == 0) {
		ret = parse_allowance(p, cause, bound, &e);
		if (ret)
			return ret;
		if (jp_cause_is_of_metric(metric) && !jp_cause_word(metric, cause) &&
		    !jp_cause_find(cause))
			return jp_case_refuse(p, "cause", cause,
					      "one that jitproof explain --causes lists");
	} else if (cause || !parse_range(relation, &e)) {
		return jp_case_refuse(p, "range", relation,
				      "=X, <=X, >=X, X..Y or any (X: a count, or a percentage)");
	}
	return add_expectation(p, &e);
}

/* Parses "when TOOL VERSIONS: " before expectations, and moves *@text behind it. */
static int parse_scope(struct jp_case_parser *p, char **text, struct jp_scope *scope)
{
	char *colon = strchr(*text, ':'), *save, *tool, *range, *extra_word;

	if (!colon)
		return jp_case_refuse(p, "line", *text, "when TOOL VERSIONS: METRIC ...");
	*colon = '\0';
	strtok_r(*text, " \t", &save);
	tool = strtok_r(NULL, " \t", &save);
	range = tool ? strtok_r(NULL, " \t", &save) : NULL;
	extra_word = range ? strtok_r(NULL, " \t", &save) : NULL;
	if (!range || extra_word || !jp_scope_parse(tool, range, scope))
		return jp_case_refuse(p, "scope", range ? range : "",
				      "when TOOL VERSIONS:, the versions X..Y, X.., ..Y or X");
	*text = colon + 1;
	return 0;
}

int jp_case_expect(struct jp_case_parser *p, char *line)
{
	struct jp_scope scope = {0};
	const char *reason = jp_case_cut_comment(line);
	char *text = jp_case_trim(line), *save, *part;

	if (strcmp(text, "xfail") == 0) {
		if (!reason[0])
			return jp_case_refuse(p, "line", text, "a reason after #");
		p->cas->xfail = reason;
		return 0;
	}
	if (strncmp(text, "when ", 5) == 0 && parse_scope(p, &text, &scope))
		return -EINVAL;
	for (part = strtok_r(text, ",", &save); part; part = strtok_r(NULL, ",", &save)) {
		int ret = parse_expectation(p, part, &scope, reason);

		if (ret)
			return ret;
	}
	return 0;
}

/* Returns whether an expectation of the case demands predicted.METHOD =100% for all tools to which
 * @allow, an expectation with METHOD, applies. */
static bool demands_all_predicted(const struct jp_case_parser *p,
				  const struct jp_expectation *allow)
{
	const char *method = strrchr(allow->metric, '.');

	for (size_t i = 0; method && i < p->nr_expectations; i++) {
		const struct jp_expectation *e = &p->expectations[i];

		if (strncmp(e->metric, "predicted.", 10) == 0 &&
		    strcmp(e->metric + 10, method + 1) == 0 && e->percent && e->min == 1 &&
		    (!e->scope.tool[0] || memcmp(&e->scope, &allow->scope, sizeof(e->scope)) == 0))
			return true;
	}
	return false;
}

int jp_case_check_predicted(struct jp_case_parser *p)
{
	for (size_t i = 0; i < p->nr_expectations; i++) {
		const struct jp_expectation *allow = &p->expectations[i];

		if (!allow->is_predicted || demands_all_predicted(p, allow))
			continue;
		p->line = allow->line;
		return jp_case_refuse(p, "predicted", allow->metric,
				      "predicted.METHOD =100% in the same case");
	}
	return 0;
}
